// The model that the path of a request names: GET /v1/models/{id}.
//
//   const absl::StatusOr<const ModelRoute*> route = FindModelOfPath(*table, exchange);
#pragma once

#include "absl/status/statusor.h"
#include "gateway/http/exchange.h"

namespace inferd::gateway {

class RouteTable;
struct ModelRoute;

// Also notes the model for the log. NOT_FOUND: there is none of that name, or the key may not use it.
absl::StatusOr<const ModelRoute*> FindModelOfPath(const RouteTable& table, Exchange& exchange);

}  // namespace inferd::gateway
