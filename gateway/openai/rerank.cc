// POST /v1/rerank: documents in the order of their relevance to a query, in the form that Jina, Cohere and vLLM share.
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>
#include <numeric>

#include "gateway/api/embed_call.h"
#include "gateway/api/respond.h"
#include "gateway/openai/endpoints.h"
#include "gateway/openai/requests/rerank_request.h"
#include "gateway/serving/parse_body.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

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
