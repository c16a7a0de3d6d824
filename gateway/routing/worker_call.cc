#include "gateway/routing/worker_call.h"

#include <algorithm>
#include <utility>

#include "config/base/status.h"
#include "config/base/status_details.h"
#include "gateway/routing/resume_gate.h"
#include "gateway/routing/route_table.h"
#include "gateway/routing/routes.h"

namespace inferd::gateway {
namespace {

// How long a table that led to a dead worker is given to change.
constexpr auto kStaleTableRest = std::chrono::milliseconds(100);

}  // namespace

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
    if (absl::Status over = upstream.running.ended(); !over.ok()) co_return over;
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

Task<absl::StatusOr<std::shared_ptr<WorkerConnection>>> CallTries::NextWorker() {
  if (routed_by_ != nullptr) {
    co_await upstream_.routes.WaitForUpdate(routed_by_, executor_, std::chrono::steady_clock::now() + kStaleTableRest);
  }
  while (true) {
    absl::StatusOr<std::shared_ptr<WorkerConnection>> worker = co_await FindWorker(upstream_, call_, executor_);
    if (!worker.ok()) co_return worker.status();
    routed_by_ = upstream_.routes.Current();
    if (!blame_.is_suspect()) co_return worker;
    const ModelRoute* route = routed_by_->Find(call_.model);
    std::string key = route == nullptr ? call_.model : route->model;
    if (upstream_.gate.TryEnter(key)) {
      gate_held_ = std::move(key);
      // Another of the same kind may have been found out meanwhile.
      if (absl::Status allowed = upstream_.poison.Check(*call_.request, call_.caller); !allowed.ok()) co_return allowed;
      co_return worker;
    }
    co_await upstream_.gate.WaitForTurn(key, executor_, call_.deadline, wake_);
  }
}

std::optional<absl::Status> CallTries::AfterEnd(const CallEnd& end) {
  LeaveGate();
  if (!ended_.ok()) return ended_;
  // A worker that drains or loads leaves it to another.
  const bool turned_away =
      end.outcome == CallOutcome::kAnswered && absl::IsUnavailable(end.status) && !upstream_.shutting_down;
  if (end.outcome == CallOutcome::kAnswered && !turned_away) return end.status;
  if (turned_away || end.outcome == CallOutcome::kNotReached) {
    const TimePoint now = std::chrono::steady_clock::now();
    if (!give_up_) give_up_ = now + upstream_.start_wait;
    return now >= *give_up_ ? std::optional(end.status) : std::nullopt;
  }
  give_up_.reset();
  if (!blame_.Add(end.begun)) return std::nullopt;
  return upstream_.poison.Add(*call_.request, call_.caller);
}

void CallTries::EndWith(const absl::Status& why) {
  ended_ = why;
  if (const auto context = context_.lock()) context->TryCancel();
  wake_->Notify();
}

void CallTries::LeaveGate() {
  if (!gate_held_.empty()) upstream_.gate.Leave(std::exchange(gate_held_, ""));
}

}  // namespace inferd::gateway
