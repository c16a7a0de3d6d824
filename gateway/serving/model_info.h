// What is known of models: which a caller may see, and what their workers tell.
//
//   std::vector<const ModelRoute*> routes = VisibleModels(*table, request);
//   v1::ModelInfo info = co_await AskForModelInfo(upstream, route, request_id, executor);
#pragma once

#include <string>
#include <vector>

#include "gateway/routing/route_table.h"
#include "gateway/routing/upstream.h"

namespace inferd::gateway {

struct ServedRequest;

// Those that the request's key may use, in the table's order. The table has to outlive them.
std::vector<const ModelRoute*> VisibleModels(const RouteTable& table, const ServedRequest& request);

// Name, aliases, state, version and times are always set; the rest only if a worker serves and answers at once.
Task<v1::ModelInfo> AskForModelInfo(Upstream& upstream, const ModelRoute& route, std::string request_id,
                                    Executor executor);

// The same of several models, in their order. All are asked at once: those that hang delay the answer together as long
// as one. The routes have to outlive the call.
Task<std::vector<v1::ModelInfo>> AskForModelInfos(Upstream& upstream, std::vector<const ModelRoute*> routes,
                                                  std::string request_id, Executor executor);

}  // namespace inferd::gateway
