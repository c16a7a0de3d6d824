#include "worker/template_source.h"

#include <optional>
#include <string_view>
#include <utility>

#include "config/base/status.h"
#include "config/options.h"
#include "config/yaml_text.h"
#include "engine/template/fallbacks.h"

namespace inferd::worker {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool IsBlank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

absl::StatusOr<std::string> ReadTemplateFile(const std::string& path) {
  ASSIGN_OR_RETURN(std::string text, config::ReadSmallFile(path));
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  if (IsBlank(text)) return InvalidArgument("{}: is empty, expected a chat template", path);
  return text;
}

}  // namespace

absl::StatusOr<TemplateSource> FindTemplate(const config::ModelOptions& options, const gguf::GgufFile& file) {
  if (!options.chat_template_file.empty()) {
    absl::StatusOr<std::string> text = ReadTemplateFile(options.chat_template_file);
    if (!text.ok()) return AtField("chat_template_file", text.status());
    return TemplateSource{.text = *std::move(text), .option = "chat_template_file", .name = options.chat_template_file};
  }
  if (options.chat_template != config::ChatTemplate::kFile) {
    const std::string name(config::NameOf(options.chat_template));
    const std::optional<std::string_view> source = chat_template::FindFallback(name);
    if (!source) return InvalidField("chat_template", "there is no template {}", name);
    return TemplateSource{.text = std::string(*source), .option = "chat_template", .name = name};
  }
  ASSIGN_OR_RETURN(const std::string_view source, file.GetStringOr("tokenizer.chat_template", ""));
  return TemplateSource{.text = IsBlank(source) ? std::string() : std::string(source),
                        .name = "tokenizer.chat_template"};
}

}  // namespace inferd::worker
