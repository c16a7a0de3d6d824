// GET /v1/models and GET /v1/models/{id}
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>
#include <vector>

#include "config/base/status.h"
#include "gateway/api/respond.h"
#include "gateway/http/canonical_path.h"
#include "gateway/json/valid_text.h"
#include "gateway/openai/endpoints.h"
#include "gateway/routing/route_table.h"
#include "gateway/routing/routes.h"
#include "gateway/serving/model_info.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

constexpr std::string_view kModelPath = "/v1/models/";

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
  std::vector<const ModelRoute*> routes;
  for (const ModelRoute& route : table->models()) {
    if (MaySee(exchange, route.model)) routes.push_back(&route);
  }
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
  std::string id = DecodeSlashes(std::string_view(exchange.request.path).substr(kModelPath.size()));
  std::shared_ptr<const RouteTable> table = serving.upstream.routes.Current();
  const ModelRoute* route = table->Find(id);
  if (route == nullptr || !MaySee(exchange, route->model)) {
    co_return co_await RespondError(exchange, NotFound("the model '{}' does not exist", ValidText(id, 128)));
  }
  exchange.record.model = route->model;
  v1::ModelInfo info = co_await AskForModelInfo(serving.upstream, *route, exchange.request_id, exchange.executor());
  Response response;
  response.body = json::serialize(ModelJson(*route, info));
  co_await exchange.Respond(std::move(response));
}

}  // namespace inferd::gateway
