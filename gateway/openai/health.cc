// GET /health: the gateway lives. GET /version: which it is. GET /ready: every model that should serve does, and the
// daemon is not about to end.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "config/base/version.h"
#include "gateway/openai/endpoints.h"
#include "gateway/routing/route_table.h"
#include "gateway/routing/routes.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

json::object VersionJson(const VersionRoute& version) {
  json::object object;
  object["version"] = version.version;
  object["state"] = version.state;
  object["weight"] = version.weight;
  object["fingerprint"] = version.fingerprint;
  return object;
}

}  // namespace

Task<void> ServeHealth(const Serving&, Exchange& exchange) {
  Response response;
  response.body = R"({"status":"ok"})";
  co_await exchange.Respond(std::move(response));
}

Task<void> ServeVersion(const Serving&, Exchange& exchange) {
  Response response;
  response.body = json::serialize(json::object{{"version", json::string_view(kVersion)}});
  co_await exchange.Respond(std::move(response));
}

Task<void> ServeReady(const Serving& serving, Exchange& exchange) {
  std::shared_ptr<const RouteTable> table = serving.upstream.routes.Current();
  const bool draining = serving.upstream.shutting_down;
  bool ready = serving.upstream.routes.known() && !draining;
  json::array models;
  for (const ModelRoute& route : table->models()) {
    if (route.expected && !route.available()) ready = false;
    if (!exchange.may_see_models || !MaySee(exchange, route.model)) continue;
    json::array versions;
    for (const VersionRoute& version : route.versions) versions.push_back(VersionJson(version));
    json::object object;
    object["model"] = route.model;
    object["state"] = json::string_view(route.state().data(), route.state().size());
    object["expected"] = route.expected;
    object["versions"] = std::move(versions);
    models.push_back(std::move(object));
  }
  Response response;
  response.status = ready ? 200 : 503;
  if (!ready) exchange.record.error_code = draining ? "draining" : "not_ready";
  json::object body;
  body["status"] = ready ? "ready" : draining ? "draining" : "not ready";
  if (exchange.may_see_models) body["models"] = std::move(models);
  response.body = json::serialize(body);
  co_await exchange.Respond(std::move(response));
}

}  // namespace inferd::gateway
