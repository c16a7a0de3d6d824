// POST /v1/embeddings
#include <bit>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>
#include <cstring>

#include "absl/strings/escaping.h"
#include "gateway/api/embed_call.h"
#include "gateway/api/respond.h"
#include "gateway/openai/endpoints.h"
#include "gateway/openai/requests/embedding_request.h"
#include "gateway/serving/parse_body.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

json::value EmbeddingJson(const v1::Embedding& embedding, bool base64) {
  if (base64) {
    static_assert(std::endian::native == std::endian::little, "the format is little-endian f32");
    std::string bytes(reinterpret_cast<const char*>(embedding.values().data()),
                      embedding.values_size() * sizeof(float));
    return json::value(absl::Base64Escape(bytes));
  }
  json::array values;
  values.reserve(embedding.values_size());
  for (float value : embedding.values()) values.push_back(value);
  return values;
}

std::string EmbeddingBody(const v1::EmbedResponse& answer, const EmbeddingRequest& request) {
  json::array data;
  for (const v1::Embedding& embedding : answer.embeddings()) {
    json::object entry;
    entry["object"] = "embedding";
    entry["index"] = data.size();
    entry["embedding"] = EmbeddingJson(embedding, request.base64);
    data.push_back(std::move(entry));
  }
  json::object body;
  body["object"] = "list";
  body["data"] = std::move(data);
  body["model"] = request.model;
  body["system_fingerprint"] = answer.fingerprint();
  body["usage"] =
      json::object{{"prompt_tokens", answer.usage().prompt_tokens()}, {"total_tokens", answer.usage().prompt_tokens()}};
  if (!request.warnings.empty()) body["warnings"] = json::value_from(request.warnings);
  return json::serialize(body);
}

}  // namespace

Task<void> ServeEmbeddings(const Serving& serving, Exchange& exchange) {
  absl::StatusOr<EmbeddingRequest> request = co_await ParseBody(serving, exchange.request.body, ParseEmbeddingRequest);
  if (!request.ok()) co_return co_await RespondError(exchange, request.status());
  absl::StatusOr<v1::EmbedResponse> answer = co_await CallEmbed(serving, exchange, *request, "input");
  if (!answer.ok()) co_return co_await RespondError(exchange, answer.status());
  Response response;
  response.body = EmbeddingBody(*answer, *request);
  co_await exchange.Respond(std::move(response));
}

}  // namespace inferd::gateway
