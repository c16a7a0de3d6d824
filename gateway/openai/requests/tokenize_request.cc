#include "gateway/openai/requests/tokenize_request.h"

#include "config/base/status.h"
#include "gateway/json/fields.h"
#include "gateway/json/json_text.h"

namespace inferd::gateway {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 31;

}  // namespace

absl::StatusOr<TokenizeFields> ParseTokenizeRequest(std::string_view body) {
  ASSIGN_OR_RETURN(boost::json::object object, ParseJsonObject(body));
  Fields fields(std::move(object));
  TokenizeFields parsed;
  ASSIGN_OR_RETURN(auto model, fields.String("model", 256));
  parsed.model = model.value_or("");
  ASSIGN_OR_RETURN(auto content, fields.String("content", kMaxTextBytes));
  ASSIGN_OR_RETURN(auto prompt, fields.String("prompt", kMaxTextBytes));
  if (!content && prompt) {
    content = std::move(prompt);
    parsed.text_name = "prompt";
  }
  if (!content) return InvalidField("content", "is missing");
  parsed.tokenize.set_text(*content);
  ASSIGN_OR_RETURN(auto add_special, fields.Boolean("add_special"));
  parsed.tokenize.set_add_special(add_special.value_or(false));
  ASSIGN_OR_RETURN(auto parse_special, fields.Boolean("parse_special"));
  parsed.tokenize.set_parse_special(parse_special.value_or(true));
  ASSIGN_OR_RETURN(auto with_pieces, fields.Boolean("with_pieces"));
  parsed.tokenize.set_with_pieces(with_pieces.value_or(false));
  parsed.warnings = fields.Warnings();
  return parsed;
}

}  // namespace inferd::gateway
