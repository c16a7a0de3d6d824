#include "gateway/openai/requests/apply_template_request.h"

#include "config/base/status.h"
#include "gateway/json/fields.h"
#include "gateway/json/json_text.h"
#include "gateway/openai/requests/chat_request.h"

namespace inferd::gateway {

absl::StatusOr<ApplyTemplateFields> ParseApplyTemplateRequest(std::string_view body) {
  ASSIGN_OR_RETURN(boost::json::object object, ParseJsonObject(body));
  Fields fields(std::move(object));
  ApplyTemplateFields parsed;
  ASSIGN_OR_RETURN(auto model, fields.String("model", 256));
  parsed.model = model.value_or("");
  RETURN_IF_ERROR(ReadChatPrompt(fields, *parsed.apply.mutable_chat()));
  parsed.warnings = fields.Warnings();
  return parsed;
}

}  // namespace inferd::gateway
