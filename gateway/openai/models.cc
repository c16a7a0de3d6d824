// GET /v1/models and GET /v1/models/{id}
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>
#include "config/base/status.h"
#include "gateway/auth/api_keys.h"
#include "gateway/http/canonical_path.h"
#include "gateway/openai/endpoints.h"
#include "gateway/routing/route_table.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

constexpr auto kInfoDeadline = std::chrono::milliseconds(500);
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

// What the serving worker says of its model; nothing if it does not answer at once.
Task<v1::ModelInfo> AskForInfo(const Serving& serving, Exchange& exchange, const VersionRoute* version) {
  v1::ModelInfo info;
  if (version == nullptr) co_return info;
  std::shared_ptr<WorkerConnection> worker = serving.upstream.workers.Get(version->address);
  auto request = std::make_shared<v1::ListModelsRequest>();
  auto start = [worker, request](grpc::ClientContext* context, v1::ListModelsResponse* response,
                                 std::function<void(grpc::Status)> done) {
    worker->inference->async()->ListModels(context, request.get(), response, std::move(done));
  };
  TimePoint deadline = std::chrono::steady_clock::now() + kInfoDeadline;
  CallResult<v1::ListModelsResponse> result = co_await CallWorker<v1::ListModelsResponse>(
      exchange.executor(), deadline, exchange.request_id, start);
  if (result.end.status.ok() && result.response.models_size() > 0) info = result.response.models(0);
  co_return info;
}

Task<json::object> ModelJson(const Serving& serving, Exchange& exchange, const ModelRoute& route) {
  const VersionRoute* version = PickVersion(route, 0);
  v1::ModelInfo info = co_await AskForInfo(serving, exchange, version);
  json::object object;
  object["id"] = route.model;
  object["object"] = "model";
  int64_t updated = version != nullptr ? version->updated_unix_seconds : info.updated_unix_seconds();
  object["created"] = info.created_unix_seconds() > 0 ? info.created_unix_seconds() : updated;
  object["owned_by"] = "inferd";
  object["updated_at"] = updated;
  object["aliases"] = json::value_from(route.aliases);
  object["fingerprint"] = version != nullptr ? json::value(version->fingerprint) : json::value(nullptr);
  object["meta"] = MetaJson(info);
  object["status"] = json::string_view(route.state().data(), route.state().size());
  co_return object;
}

bool MaySee(const Exchange& exchange, const ModelRoute& route) {
  return exchange.key == nullptr || exchange.key->MayUse(route.model);
}

}  // namespace

Task<void> ServeModels(const Serving& serving, Exchange& exchange) {
  std::shared_ptr<const RouteTable> table = serving.upstream.routes.Current();
  json::array data;
  for (const ModelRoute& route : table->models()) {
    if (!MaySee(exchange, route)) continue;
    json::object object = co_await ModelJson(serving, exchange, route);
    data.push_back(std::move(object));
  }
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
  if (route == nullptr || !MaySee(exchange, *route)) {
    co_return co_await RespondError(exchange, NotFound("the model '{}' does not exist", id.substr(0, 128)));
  }
  exchange.record.model = route->model;
  json::object object = co_await ModelJson(serving, exchange, *route);
  Response response;
  response.body = json::serialize(object);
  co_await exchange.Respond(std::move(response));
}

}  // namespace inferd::gateway
