// GET /v1/models and GET /v1/models/{id}
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>
#include <vector>

#include "gateway/api/model_of_path.h"
#include "gateway/api/respond.h"
#include "gateway/openai/endpoints.h"
#include "gateway/routing/route_table.h"
#include "gateway/routing/routes.h"
#include "gateway/serving/model_info.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

json::object MetaJson(const v1::ModelInfo& info) {
  json::object meta;
  meta["architecture"] = info.architecture();
  meta["n_params"] = info.parameters();
  meta["n_ctx"] = info.context_tokens();
  meta["n_ctx_train"] = info.trained_context_tokens();
  meta["n_vocab"] = info.vocabulary_tokens();
  meta["n_embd"] = info.embedding_width();
  meta["quantization"] = info.quantization();
  meta["size_bytes"] = info.size_bytes();
  return meta;
}

json::object ModelJson(const ModelRoute& route, const v1::ModelInfo& info) {
  json::object object;
  object["id"] = route.model;
  object["object"] = "model";
  object["created"] = info.created_unix_seconds();
  object["owned_by"] = "inferd";
  object["updated_at"] = info.updated_unix_seconds();
  object["aliases"] = json::value_from(route.aliases);
  object["fingerprint"] = info.fingerprint();
  object["meta"] = MetaJson(info);
  object["status"] = info.state();
  return object;
}

}  // namespace

Task<void> ServeModels(const Serving& serving, Exchange& exchange) {
  std::shared_ptr<const RouteTable> table = serving.upstream.routes.Current();
  const std::vector<const ModelRoute*> routes = VisibleModels(*table, exchange);
  const std::vector<v1::ModelInfo> infos =
      co_await AskForModelInfos(serving.upstream, routes, exchange.request_id, exchange.executor());
  json::array data;
  for (size_t i = 0; i < routes.size(); ++i) data.push_back(ModelJson(*routes[i], infos[i]));
  json::object body;
  body["object"] = "list";
  body["data"] = std::move(data);
  Response response;
  response.body = json::serialize(body);
  co_await exchange.Respond(std::move(response));
}

Task<void> ServeModel(const Serving& serving, Exchange& exchange) {
  std::shared_ptr<const RouteTable> table = serving.upstream.routes.Current();
  const absl::StatusOr<const ModelRoute*> route = FindModelOfPath(*table, exchange);
  if (!route.ok()) co_return co_await RespondError(exchange, route.status());
  v1::ModelInfo info = co_await AskForModelInfo(serving.upstream, **route, exchange.request_id, exchange.executor());
  Response response;
  response.body = json::serialize(ModelJson(**route, info));
  co_await exchange.Respond(std::move(response));
}

}  // namespace inferd::gateway
