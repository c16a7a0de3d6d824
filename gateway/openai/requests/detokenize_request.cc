#include "gateway/openai/requests/detokenize_request.h"

#include "config/base/status.h"
#include "gateway/json/fields.h"
#include "gateway/json/json_text.h"
#include "gateway/openai/requests/completion_request.h"

namespace inferd::gateway {

absl::StatusOr<DetokenizeFields> ParseDetokenizeRequest(std::string_view body) {
  ASSIGN_OR_RETURN(boost::json::object object, ParseJsonObject(body));
  Fields fields(std::move(object));
  DetokenizeFields parsed;
  ASSIGN_OR_RETURN(auto model, fields.String("model", 256));
  parsed.model = model.value_or("");
  const boost::json::value* tokens = fields.Raw("tokens");
  if (tokens == nullptr) return InvalidField("tokens", "is missing");
  if (!tokens->is_array()) return InvalidField("tokens", "{} is not an array", Shown(*tokens));
  if (!tokens->get_array().empty()) {
    ASSIGN_OR_RETURN(std::vector<PromptInput> inputs, ReadPromptInputs(*tokens, "tokens"));
    if (inputs.size() != 1 || inputs[0].is_text) return InvalidField("tokens", "is not an array of token ids");
    parsed.detokenize.mutable_ids()->Add(inputs[0].ids.begin(), inputs[0].ids.end());
  }
  ASSIGN_OR_RETURN(auto with_special, fields.Boolean("with_special"));
  parsed.detokenize.set_with_special(with_special.value_or(true));
  parsed.warnings = fields.Warnings();
  return parsed;
}

}  // namespace inferd::gateway
