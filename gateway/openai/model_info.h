// What is known of a model: its route, and what its worker tells.
//
//   v1::ModelInfo info = co_await AskForModelInfo(upstream, route, request_id, executor);
#pragma once

#include <string>

#include "gateway/routing/generation.h"

namespace inferd::gateway {

// Name, aliases, state, version and times are always set; the rest only if a worker serves and answers at once.
Task<v1::ModelInfo> AskForModelInfo(Upstream& upstream, const ModelRoute& route, std::string request_id,
                                    Executor executor);

}  // namespace inferd::gateway
