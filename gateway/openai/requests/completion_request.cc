#include "gateway/openai/requests/completion_request.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "config/base/status.h"
#include "gateway/json/json_text.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

// OpenAI's default for this endpoint.
constexpr uint32_t kDefaultMaxTokens = 16;
constexpr int64_t kMaxTokenId = 2147483647;

absl::StatusOr<PromptInput> ReadIds(const json::array& ids, const std::string& path) {
  PromptInput input;
  input.is_text = false;
  if (ids.empty()) return InvalidField(path, "is empty");
  input.ids.reserve(ids.size());
  for (const json::value& id : ids) {
    std::optional<int64_t> number = id.is_number() ? AsInteger(id) : std::nullopt;
    if (!number || *number < 0 || *number > kMaxTokenId) {
      return InvalidField(path, "{} is not a token id", Shown(id));
    }
    input.ids.push_back(static_cast<int32_t>(*number));
  }
  return input;
}

absl::StatusOr<PromptInput> ReadOne(const json::value& value, const std::string& path) {
  if (value.is_array()) return ReadIds(value.get_array(), path);
  if (!value.is_string()) return InvalidField(path, "{} is not a string or an array of token ids", Shown(value));
  PromptInput input;
  input.text.assign(value.get_string().data(), value.get_string().size());
  return input;
}

}  // namespace

absl::StatusOr<std::vector<PromptInput>> ReadPromptInputs(const json::value& value, std::string_view name) {
  std::vector<PromptInput> inputs;
  std::string path(name);
  bool list = value.is_array() && (value.get_array().empty() || !value.get_array().front().is_number());
  if (!list) {
    ASSIGN_OR_RETURN(PromptInput input, ReadOne(value, path));
    inputs.push_back(std::move(input));
    return inputs;
  }
  const json::array& array = value.get_array();
  if (array.empty()) return InvalidField(path, "is empty");
  if (array.size() > kMaxPrompts) {
    return InvalidField(path, "{} entries are more than the {} allowed", array.size(), kMaxPrompts);
  }
  for (const json::value& entry : array) {
    ASSIGN_OR_RETURN(PromptInput input, ReadOne(entry, fmt::format("{}[{}]", path, inputs.size())));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

std::span<const FieldName> CompletionFieldNames() {
  static constexpr FieldName kNames[] = {{"choices", "n"}, {"ids", "prompt"}, {"text", "prompt"}};
  return kNames;
}

absl::StatusOr<CompletionRequest> ParseCompletionRequest(std::string_view body) {
  ASSIGN_OR_RETURN(json::object object, ParseJsonObject(body));
  Fields fields(std::move(object));
  CompletionRequest completion;
  v1::GenerateRequest shared;
  RETURN_IF_ERROR(ReadGenerationFields(fields, shared, completion.common));
  if (!completion.common.has_max_tokens) shared.mutable_limits()->set_max_tokens(kDefaultMaxTokens);

  ASSIGN_OR_RETURN(auto logprobs, fields.Integer("logprobs", 0, 20));
  if (logprobs) shared.set_logprobs(static_cast<uint32_t>(*logprobs));
  ASSIGN_OR_RETURN(auto echo, fields.Boolean("echo"));
  completion.echo = echo.value_or(false);
  shared.set_prompt_logprobs(completion.echo && logprobs.has_value());
  ASSIGN_OR_RETURN(auto parse_special, fields.Boolean("parse_special"));
  shared.set_parse_special(parse_special.value_or(false));
  ASSIGN_OR_RETURN(auto suffix, fields.String("suffix", 1 << 20));
  if (suffix && !suffix->empty()) return InvalidField("suffix", "filling in the middle is not supported");

  const json::value* prompt = fields.Raw("prompt");
  if (prompt == nullptr) return InvalidField("prompt", "is missing");
  ASSIGN_OR_RETURN(std::vector<PromptInput> inputs, ReadPromptInputs(*prompt, "prompt"));
  if (inputs.size() * shared.choices() > kMaxPrompts) {
    return InvalidField("n", "{} prompts with {} choices each are more than {} in all", inputs.size(), shared.choices(),
                        kMaxPrompts);
  }
  for (PromptInput& input : inputs) {
    v1::GenerateRequest& request = completion.generate.emplace_back(shared);
    if (input.is_text) {
      request.set_text(std::move(input.text));
    } else {
      request.mutable_tokens()->mutable_ids()->Add(input.ids.begin(), input.ids.end());
    }
  }
  completion.warnings = fields.Warnings();
  return completion;
}

}  // namespace inferd::gateway
