// The log of every process: one JSON line an event on standard error, with time, level, process, message and fields.
// A full disk or a reader that stopped never holds a caller up: lines are dropped and counted.
//
//   StartLog({.process = "inferd", .level = LogLevel::kInfo});
//   LogInfo("worker ready", {{"model", name}, {"ready_after_ms", 183}});
//   {"time":"2026-01-31T12:00:00.123Z","level":"info","process":"inferd","message":"worker ready","model":"chat",...}
//
// No prompt, answer, key or file content belongs in a log line.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

#include "config/base/clock.h"

namespace inferd {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kJson, kText };

// What a field may hold; text is copied before Log returns.
class LogValue {
 public:
  template <std::convertible_to<std::string_view> T>
  LogValue(const T& text) : value_(std::string_view(text)) {}
  LogValue(bool flag) : value_(flag) {}
  template <std::signed_integral T>
  LogValue(T number) : value_(static_cast<int64_t>(number)) {}
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) LogValue(T number) : value_(static_cast<uint64_t>(number)) {}
  template <std::floating_point T>
  LogValue(T number) : value_(static_cast<double>(number)) {}

  const std::variant<std::string_view, bool, int64_t, uint64_t, double>& get() const { return value_; }

 private:
  std::variant<std::string_view, bool, int64_t, uint64_t, double> value_;
};

struct LogField {
  std::string_view name;
  LogValue value;
};

struct LogTarget {
  std::string process;
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kJson;
  int fd = 2;
  size_t queue_bytes = 4 << 20;
};

// Called once in main before other threads exist; until then lines are discarded. Also makes writing to a closed pipe
// an error instead of a signal.
void StartLog(LogTarget target);
// May be called at any time, also before StartLog.
void SetLogLevel(LogLevel level);
// Writes what is waiting, for at most `wait`. The last thing that main does.
void StopLog(Milliseconds wait = Milliseconds(500));

void Log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {});
inline void LogDebug(std::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kDebug, message, fields);
}
inline void LogInfo(std::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kInfo, message, fields);
}
inline void LogWarning(std::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kWarning, message, fields);
}
inline void LogError(std::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kError, message, fields);
}

// Lines lost since StartLog.
uint64_t LogLinesDropped();

}  // namespace inferd
