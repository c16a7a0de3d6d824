// inferd-model template: renders a chat template with a context, exactly as a worker would.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <ctime>
#include <memory>
#include <string>

#include "config/base/clock.h"
#include "config/base/local_time.h"
#include "config/base/status.h"
#include "engine/gguf/gguf_file.h"
#include "engine/template/chat_template.h"
#include "engine/tools/input.h"
#include "engine/tools/verbs.h"

namespace inferd::tools {
namespace {

namespace json = boost::json;

struct Options {
  std::string template_file, model, context_file, now;
  bool as_json = false;
};

absl::StatusOr<std::string> ReadTemplate(const Options& options) {
  if (!options.template_file.empty()) return ReadFile(options.template_file);
  ASSIGN_OR_RETURN(const auto file, gguf::GgufFile::Open(options.model));
  ASSIGN_OR_RETURN(const std::string_view source, file->GetString("tokenizer.chat_template"));
  return std::string(source);
}

absl::StatusOr<json::object> ReadContext(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  boost::system::error_code error;
  json::value value = json::parse(text, error, {}, {.max_depth = 256});
  if (error) return InvalidArgument("{}: is no valid JSON: {}", path, error.message());
  if (!value.is_object()) return InvalidArgument("{}: expected a JSON object", path);
  return std::move(value.get_object());
}

// The fields of "2026-11-29 12:34:56", or of the local time now.
absl::StatusOr<std::tm> TimeOf(const std::string& text) {
  if (text.empty()) return LocalTime(Clock::System().WallNow());
  std::tm out{};
  const char* end = strptime(text.c_str(), "%Y-%m-%d %H:%M:%S", &out);
  if (end == nullptr || *end != '\0') return InvalidArgument("--now '{}': expected YYYY-MM-DD HH:MM:SS", text);
  return out;
}

absl::Status RenderTemplate(const Options& options) {
  ASSIGN_OR_RETURN(const std::string source, ReadTemplate(options));
  ASSIGN_OR_RETURN(const json::object context, ReadContext(options.context_file));
  ASSIGN_OR_RETURN(const std::tm now, TimeOf(options.now));
  const std::string& name = options.template_file.empty() ? options.model : options.template_file;
  auto parsed = chat_template::ChatTemplate::Parse(source);
  if (!parsed.ok()) return Annotate(parsed.status(), name);
  const auto prompt = (*parsed)->Render(context, {}, now);
  if (!prompt.ok()) return Annotate(prompt.status(), name);
  const std::string text = prompt->Text();
  const std::string out = options.as_json ? json::serialize(json::object{{"text", text}}) + "\n" : text;
  if (fwrite(out.data(), 1, out.size(), stdout) != out.size()) return Internal("standard output: cannot be written");
  return absl::OkStatus();
}

}  // namespace

void AddTemplate(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = program.add_subcommand("template", "Renders a chat template and prints nothing but the text.");
  CLI::Option_group* source = verb->add_option_group("template", "exactly one of");
  source->add_option("--template-file", options->template_file, "file with the template (Jinja)");
  source->add_option("--model", options->model, "model file (GGUF) whose template it is");
  source->require_option(1);
  verb->add_option("--context-file", options->context_file, "JSON object: messages, tools, bos_token, ...")->required();
  verb->add_option("--now", options->now, "time for strftime_now, YYYY-MM-DD HH:MM:SS (default: the local time)");
  verb->add_flag("--json", options->as_json, "print {\"text\": ...}");
  verb->callback([options, &action] { action = [options] { return RenderTemplate(*options); }; });
}

}  // namespace inferd::tools
