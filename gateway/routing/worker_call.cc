#include "gateway/routing/worker_call.h"

#include <algorithm>

#include "config/base/status.h"
#include "gateway/openai/errors.h"
#include "gateway/routing/route_table.h"
#include "gateway/routing/routes.h"

namespace inferd::gateway {

Task<absl::Status> AskForModel(Upstream& upstream, std::string model, Executor executor) {
  absl::Status asked = co_await upstream.ensure_loaded(model, executor);
  // A supervisor that does not answer may do so the next time; the wait has its bound.
  if (asked.ok() || absl::IsUnavailable(asked) || absl::IsDeadlineExceeded(asked)) co_return absl::OkStatus();
  absl::Status status = Unavailable("the model '{}' cannot be loaded: {}", model, MessageOf(asked));
  SetRetryAfter(status, kNotReadyRetrySeconds);
  co_return status;
}

Task<absl::StatusOr<std::shared_ptr<WorkerConnection>>> FindWorker(Upstream& upstream, const ModelCall& call,
                                                                   Executor executor) {
  TimePoint started = std::chrono::steady_clock::now(), ask_at = started;
  while (true) {
    std::shared_ptr<const RouteTable> table = upstream.routes.Current();
    const ModelRoute* route = table->Find(call.model);
    if (route == nullptr) co_return NotFound("the model '{}' does not exist", call.model);
    if (const VersionRoute* version = PickVersion(*route, call.sticky)) {
      co_return upstream.workers.Get(version->address);
    }
    TimePoint now = std::chrono::steady_clock::now();
    TimePoint give_up =
        std::min(call.deadline, started + (route->on_demand ? upstream.load_wait : upstream.start_wait));
    bool loadable = route->loadable() && upstream.ensure_loaded != nullptr;
    if (now >= call.deadline) co_return DeadlineExceeded("the request's deadline passed");
    if ((!route->coming() && !loadable) || now >= give_up) {
      absl::Status status = Unavailable("the model '{}' is not ready (state {})", call.model, route->state());
      SetRetryAfter(status, kNotReadyRetrySeconds);
      co_return status;
    }
    if (loadable && now >= ask_at) {
      ask_at = now + kAskForModelAgain;
      absl::Status asked = co_await AskForModel(upstream, route->model, executor);
      if (!asked.ok()) co_return asked;
    }
    co_await upstream.routes.WaitForUpdate(table, executor, loadable ? std::min(give_up, ask_at) : give_up);
  }
}

}  // namespace inferd::gateway
