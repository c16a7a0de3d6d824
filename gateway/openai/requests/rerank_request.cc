#include "gateway/openai/requests/rerank_request.h"

#include <boost/json/array.hpp>
#include <limits>
#include <string>

#include "config/base/status.h"
#include "gateway/json/fields.h"
#include "gateway/json/json_text.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

constexpr size_t kMostQueryBytes = 1 << 20;

// "text", or {"text": "text"}.
absl::StatusOr<std::string> ReadDocument(const Fields& parent, const json::value& value, size_t index) {
  const json::value* text = &value;
  if (const json::object* object = value.if_object()) {
    text = object->if_contains("text");
    parent.Within(*object, fmt::format("documents[{}]", index)).Ignore("text");
  }
  if (text == nullptr || !text->is_string()) {
    return InvalidField(fmt::format("documents[{}]", index), "{} is not a string or an object with a text",
                        Shown(value));
  }
  return std::string(text->get_string());
}

absl::Status ReadDocuments(Fields& fields, v1::EmbedRequest& embed) {
  const json::value* documents = fields.Raw("documents");
  if (documents == nullptr) return InvalidField("documents", "is missing");
  if (!documents->is_array()) return InvalidField("documents", "{} is not an array", Shown(*documents));
  const json::array& array = documents->get_array();
  if (array.empty()) return InvalidField("documents", "is empty");
  if (array.size() > kMostDocuments) {
    return InvalidField("documents", "{} entries are more than the {} allowed", array.size(), kMostDocuments);
  }
  for (size_t i = 0; i < array.size(); ++i) {
    ASSIGN_OR_RETURN(std::string text, ReadDocument(fields, array[i], i));
    embed.add_inputs()->set_text(std::move(text));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RerankRequest> ParseRerankRequest(std::string_view body) {
  ASSIGN_OR_RETURN(json::object object, ParseJsonObject(body));
  Fields fields(std::move(object));
  RerankRequest request;
  ASSIGN_OR_RETURN(auto model, fields.String("model", 256));
  request.model = model.value_or("");
  ASSIGN_OR_RETURN(auto query, fields.String("query", kMostQueryBytes));
  if (!query) return InvalidField("query", "is missing");
  request.embed.set_query(*std::move(query));
  RETURN_IF_ERROR(ReadDocuments(fields, request.embed));
  ASSIGN_OR_RETURN(auto top_n, fields.Integer("top_n", 1, std::numeric_limits<int32_t>::max()));
  if (top_n) request.top_n = static_cast<size_t>(*top_n);
  ASSIGN_OR_RETURN(auto return_documents, fields.Boolean("return_documents"));
  request.return_documents = return_documents.value_or(false);
  RETURN_IF_ERROR(ReadEmbedFields(fields, request));
  return request;
}

}  // namespace inferd::gateway
