#include "gateway/openai/requests/embedding_request.h"

#include "config/base/status.h"
#include "gateway/json/fields.h"
#include "gateway/json/json_text.h"
#include "gateway/openai/requests/completion_request.h"

namespace inferd::gateway {

absl::StatusOr<EmbeddingRequest> ParseEmbeddingRequest(std::string_view body) {
  ASSIGN_OR_RETURN(boost::json::object object, ParseJsonObject(body));
  Fields fields(std::move(object));
  EmbeddingRequest request;
  ASSIGN_OR_RETURN(auto model, fields.String("model", 256));
  request.model = model.value_or("");
  const boost::json::value* input = fields.Raw("input");
  if (input == nullptr) return InvalidField("input", "is missing");
  ASSIGN_OR_RETURN(std::vector<PromptInput> inputs, ReadPromptInputs(*input, "input"));
  for (PromptInput& one : inputs) {
    v1::EmbedInput* into = request.embed.add_inputs();
    if (one.is_text) {
      into->set_text(std::move(one.text));
    } else {
      into->mutable_tokens()->mutable_ids()->Add(one.ids.begin(), one.ids.end());
    }
  }
  ASSIGN_OR_RETURN(auto format, fields.String("encoding_format", 16));
  if (format && *format != "float" && *format != "base64") {
    return InvalidField("encoding_format", "'{}' is not float or base64", *format);
  }
  request.base64 = format.value_or("") == "base64";
  ASSIGN_OR_RETURN(auto dimensions, fields.Integer("dimensions", 1, 1 << 20));
  request.embed.set_dimensions(static_cast<uint32_t>(dimensions.value_or(0)));
  RETURN_IF_ERROR(ReadEmbedFields(fields, request));
  return request;
}

}  // namespace inferd::gateway
