// spdlog filters by level and writes the time and the process; fields are rendered here, and LineQueue does the output.
// The process's one logger is spdlog's default logger.
#include "config/base/log.h"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <cmath>
#include <csignal>
#include <iterator>
#include <memory>

#include "config/base/json_string.h"
#include "config/base/line_queue.h"

namespace inferd {
namespace {

// Keeps a line within what a pipe takes in one piece (4096 bytes) for all but very many fields.
constexpr size_t kMaxTextBytes = 1024;

class QueueSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  QueueSink(int fd, size_t capacity_bytes, LogFormat format) : format(format), queue(fd, capacity_bytes) {}

  const LogFormat format;
  LineQueue queue;

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    queue.Push(std::string(line.data(), line.size()));
  }
  void flush_() override {}
};

// Null before StartLog.
std::shared_ptr<QueueSink> Sink() {
  const auto& sinks = spdlog::default_logger_raw()->sinks();
  return sinks.empty() ? nullptr : std::dynamic_pointer_cast<QueueSink>(sinks.front());
}

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

void AppendText(std::string_view text, std::string& out) {
  if (text.size() <= kMaxTextBytes) return AppendJsonString(text, out);
  size_t end = kMaxTextBytes;
  while (end > kMaxTextBytes - 4 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  AppendJsonString(std::string(text.substr(0, end)) + "...", out);
}

struct AppendValue {
  std::string& out;
  void operator()(std::string_view text) const { AppendText(text, out); }
  void operator()(bool flag) const { out += flag ? "true" : "false"; }
  void operator()(int64_t number) const { fmt::format_to(std::back_inserter(out), "{}", number); }
  void operator()(uint64_t number) const { fmt::format_to(std::back_inserter(out), "{}", number); }
  void operator()(double number) const {
    // JSON has no word for infinity or NaN.
    if (std::isfinite(number))
      fmt::format_to(std::back_inserter(out), "{:.6g}", number);
    else
      out += "null";
  }
};

std::string JsonMembers(std::string_view message, std::initializer_list<LogField> fields) {
  std::string out = "\"message\":";
  AppendText(message, out);
  for (const LogField& field : fields) {
    out += ',';
    AppendJsonString(field.name, out);
    out += ':';
    std::visit(AppendValue{out}, field.value.get());
  }
  return out;
}

// The message without quotes, its control characters still escaped, then name=value.
std::string TextLine(std::string_view message, std::initializer_list<LogField> fields) {
  std::string out;
  AppendText(message, out);
  out = out.substr(1, out.size() - 2);
  for (const LogField& field : fields) {
    fmt::format_to(std::back_inserter(out), " {}=", field.name);
    std::visit(AppendValue{out}, field.value.get());
  }
  return out;
}

constexpr char kJsonPattern[] = R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","process":"%n",%v})";
constexpr char kTextPattern[] = "%H:%M:%S.%e %-7l %n: %v";

}  // namespace

void StartLog(LogTarget target) {
  std::signal(SIGPIPE, SIG_IGN);
  auto sink = std::make_shared<QueueSink>(target.fd, target.queue_bytes, target.format);
  auto logger = std::make_shared<spdlog::logger>(target.process, sink);
  logger->set_formatter(std::make_unique<spdlog::pattern_formatter>(
      target.format == LogFormat::kJson ? kJsonPattern : kTextPattern, spdlog::pattern_time_type::utc, "\n"));
  logger->set_level(SpdlogLevel(target.level));
  spdlog::set_default_logger(std::move(logger));
}

void SetLogLevel(LogLevel level) { spdlog::default_logger_raw()->set_level(SpdlogLevel(level)); }

void StopLog(Milliseconds wait) {
  if (const auto sink = Sink()) sink->queue.Close(wait);
}

void Log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  spdlog::logger* const logger = spdlog::default_logger_raw();
  const auto sink = Sink();
  if (sink == nullptr || !logger->should_log(SpdlogLevel(level))) return;
  const bool json = sink->format == LogFormat::kJson;
  logger->log(SpdlogLevel(level), "{}", json ? JsonMembers(message, fields) : TextLine(message, fields));
}

uint64_t LogLinesDropped() {
  const auto sink = Sink();
  return sink == nullptr ? 0 : sink->queue.dropped();
}

}  // namespace inferd
