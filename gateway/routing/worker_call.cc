#include "gateway/routing/worker_call.h"

#include <algorithm>

#include "config/base/status.h"
#include "gateway/openai/errors.h"
#include "gateway/routing/route_table.h"
#include "gateway/routing/routes.h"

namespace inferd::gateway {

Task<absl::StatusOr<std::shared_ptr<WorkerConnection>>> FindWorker(Upstream& upstream, const ModelCall& call,
                                                                   Executor executor) {
  TimePoint give_up = std::min(call.deadline, std::chrono::steady_clock::now() + upstream.start_wait);
  while (true) {
    std::shared_ptr<const RouteTable> table = upstream.routes.Current();
    const ModelRoute* route = table->Find(call.model);
    if (route == nullptr) co_return NotFound("the model '{}' does not exist", call.model);
    if (const VersionRoute* version = PickVersion(*route, call.sticky)) {
      co_return upstream.workers.Get(version->address);
    }
    TimePoint now = std::chrono::steady_clock::now();
    if (now >= call.deadline) co_return DeadlineExceeded("the request's deadline passed");
    if (!route->coming() || now >= give_up) {
      absl::Status status = Unavailable("the model '{}' is not ready (state {})", call.model, route->state());
      SetRetryAfter(status, kNotReadyRetrySeconds);
      co_return status;
    }
    co_await upstream.routes.WaitForUpdate(table, executor, give_up);
  }
}

}  // namespace inferd::gateway
