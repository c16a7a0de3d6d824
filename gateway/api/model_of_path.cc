#include "gateway/api/model_of_path.h"

#include "config/base/status.h"
#include "gateway/http/canonical_path.h"
#include "gateway/json/valid_text.h"
#include "gateway/routing/route_table.h"

namespace inferd::gateway {

absl::StatusOr<const ModelRoute*> FindModelOfPath(const RouteTable& table, Exchange& exchange) {
  constexpr std::string_view kModelPath = "/v1/models/";
  const std::string id = DecodeSlashes(std::string_view(exchange.request.path).substr(kModelPath.size()));
  const ModelRoute* route = table.Find(id);
  if (route == nullptr || !MaySee(exchange, route->model)) {
    return NotFound("the model '{}' does not exist", ValidText(id, 128));
  }
  exchange.record.model = route->model;
  return route;
}

}  // namespace inferd::gateway
