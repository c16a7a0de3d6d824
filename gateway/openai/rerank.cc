// POST /v1/rerank: documents in the order of their relevance to a query, in the form that Jina, Cohere and vLLM share.
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>
#include <limits>
#include <numeric>

#include "config/base/status.h"
#include "gateway/api/embed_call.h"
#include "gateway/api/respond.h"
#include "gateway/json/fields.h"
#include "gateway/json/json_text.h"
#include "gateway/openai/endpoints.h"
#include "gateway/serving/parse_body.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

constexpr size_t kMostDocuments = 1024;
constexpr size_t kMostQueryBytes = 1 << 20;

struct RerankRequest : EmbedFields {
  size_t top_n = kMostDocuments;
  bool return_documents = false;
};

// "text", or {"text": "text"}.
absl::StatusOr<std::string> ReadDocument(const Fields& parent, const json::value& value, size_t index) {
  const json::value* text = &value;
  if (const json::object* object = value.if_object()) {
    text = object->if_contains("text");
    parent.Within(*object, fmt::format("documents[{}]", index)).Ignore("text");
  }
  if (text == nullptr || !text->is_string()) {
    return InvalidArgument("documents[{}]: {} is not a string or an object with a text", index, Shown(value));
  }
  return std::string(text->get_string());
}

absl::Status ReadDocuments(Fields& fields, v1::EmbedRequest& embed) {
  const json::value* documents = fields.Raw("documents");
  if (documents == nullptr) return InvalidArgument("documents: is missing");
  if (!documents->is_array()) return InvalidArgument("documents: {} is not an array", Shown(*documents));
  const json::array& array = documents->get_array();
  if (array.empty()) return InvalidArgument("documents: is empty");
  if (array.size() > kMostDocuments) {
    return InvalidArgument("documents: {} entries are more than the {} allowed", array.size(), kMostDocuments);
  }
  for (size_t i = 0; i < array.size(); ++i) {
    ASSIGN_OR_RETURN(std::string text, ReadDocument(fields, array[i], i));
    embed.add_inputs()->set_text(std::move(text));
  }
  return absl::OkStatus();
}

absl::StatusOr<RerankRequest> ParseRerankRequest(std::string_view body) {
  ASSIGN_OR_RETURN(json::object object, ParseJsonObject(body));
  Fields fields(std::move(object));
  RerankRequest request;
  ASSIGN_OR_RETURN(auto model, fields.String("model", 256));
  request.model = model.value_or("");
  ASSIGN_OR_RETURN(auto query, fields.String("query", kMostQueryBytes));
  if (!query) return InvalidArgument("query: is missing");
  request.embed.set_query(*std::move(query));
  RETURN_IF_ERROR(ReadDocuments(fields, request.embed));
  ASSIGN_OR_RETURN(auto top_n, fields.Integer("top_n", 1, std::numeric_limits<int32_t>::max()));
  if (top_n) request.top_n = static_cast<size_t>(*top_n);
  ASSIGN_OR_RETURN(auto return_documents, fields.Boolean("return_documents"));
  request.return_documents = return_documents.value_or(false);
  RETURN_IF_ERROR(ReadEmbedFields(fields, request));
  return request;
}

float ScoreOf(const v1::Embedding& embedding) { return embedding.values().empty() ? 0 : embedding.values(0); }

std::string RerankBody(const v1::EmbedResponse& answer, const RerankRequest& request) {
  std::vector<int> order(static_cast<size_t>(std::min(answer.embeddings_size(), request.embed.inputs_size())));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return ScoreOf(answer.embeddings(a)) > ScoreOf(answer.embeddings(b)); });
  order.resize(std::min(order.size(), request.top_n));
  json::array results;
  for (int index : order) {
    json::object entry;
    entry["index"] = index;
    entry["relevance_score"] = ScoreOf(answer.embeddings(index));
    if (request.return_documents) entry["document"] = json::object{{"text", request.embed.inputs(index).text()}};
    results.push_back(std::move(entry));
  }
  json::object body;
  body["id"] = MakeAnswerId("rerank-");
  body["object"] = "list";
  body["model"] = request.model;
  body["system_fingerprint"] = answer.fingerprint();
  body["results"] = std::move(results);
  body["usage"] =
      json::object{{"prompt_tokens", answer.usage().prompt_tokens()}, {"total_tokens", answer.usage().prompt_tokens()}};
  if (!request.warnings.empty()) body["warnings"] = json::value_from(request.warnings);
  return json::serialize(body);
}

}  // namespace

Task<void> ServeRerank(const Serving& serving, Exchange& exchange) {
  absl::StatusOr<RerankRequest> request = co_await ParseBody(serving, exchange.request.body, ParseRerankRequest);
  if (!request.ok()) co_return co_await RespondError(exchange, request.status());
  absl::StatusOr<v1::EmbedResponse> answer = co_await CallEmbed(serving, exchange, *request, "documents");
  if (!answer.ok()) co_return co_await RespondError(exchange, answer.status());
  Response response;
  response.body = RerankBody(*answer, *request);
  co_await exchange.Respond(std::move(response));
}

}  // namespace inferd::gateway
