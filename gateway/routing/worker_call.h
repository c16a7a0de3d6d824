// A unary call to whichever worker serves a model, again on the next one if it died. A request under which two die
// while they work on it ends with INTERNAL and is refused for a while. When the time for requests under way is over
// (upstream.running), it ends with that status.
//
//   absl::StatusOr<v1::TokenizeResponse> answer = co_await CallModel<v1::TokenizeResponse>(
//       upstream, {.model = "chat", .request = &request, .deadline = deadline, .request_id = id}, executor,
//       [&](WorkerConnection& worker, const auto& context, auto* response, auto done) {
//         worker.inference->async()->Tokenize(context.get(), &request, response, std::move(done));
//       });
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "gateway/routing/death_blame.h"
#include "gateway/routing/generation.h"
#include "gateway/routing/poison_list.h"
#include "gateway/routing/routes.h"
#include "gateway/routing/unary_call.h"

namespace inferd::gateway {

struct ModelCall {
  std::string model;
  // What is asked; outlives the call.
  const google::protobuf::Message* request = nullptr;
  uint64_t sticky = 0;
  std::string caller;  // who is to blame for its deaths (poison_list.h)
  TimePoint deadline = TimePoint::max();
  std::string request_id;
  // The call of a client on whose behalf this is: its cancellation ends this one too. Null: none.
  grpc::CallbackServerContext* parent = nullptr;
};

// A request that waits for an unloaded model asks for it again after this time.
inline constexpr auto kAskForModelAgain = std::chrono::seconds(5);

// Asks the supervisor to load a model.
//   UNAVAILABLE with a time to retry after: it cannot be loaded
Task<absl::Status> AskForModel(Upstream& upstream, std::string model, Executor executor);

// A ready worker of the model, waiting for one that is about to be (upstream.start_wait at most).
//   NOT_FOUND no such model; UNAVAILABLE none is ready; DEADLINE_EXCEEDED
Task<absl::StatusOr<std::shared_ptr<WorkerConnection>>> FindWorker(Upstream& upstream, const ModelCall& call,
                                                                   Executor executor);

// One call's way from worker to worker.
class CallTries {
 public:
  CallTries(Upstream& upstream, const ModelCall& call, Executor executor)
      : upstream_(upstream),
        call_(call),
        executor_(std::move(executor)),
        running_(upstream.running.Add(executor_, [this](const absl::Status& why) { EndWith(why); })) {}
  ~CallTries() { LeaveGate(); }
  CallTries(const CallTries&) = delete;
  CallTries& operator=(const CallTries&) = delete;

  // The worker to try next, as FindWorker(). A request that may have killed has its turn alone.
  Task<absl::StatusOr<std::shared_ptr<WorkerConnection>>> NextWorker();
  // The try that begins now.
  void Begin(std::weak_ptr<grpc::ClientContext> context) { context_ = std::move(context); }
  // What to end with after a try that failed so; nothing: it is tried again.
  std::optional<absl::Status> AfterEnd(const CallEnd& end);

 private:
  void LeaveGate();
  void EndWith(const absl::Status& why);

  Upstream& upstream_;
  const ModelCall& call_;
  const Executor executor_;
  // Why it is to end, from outside; OK: it is not.
  absl::Status ended_;
  // Of the newest try.
  std::weak_ptr<grpc::ClientContext> context_;
  // Ends the wait for its turn.
  const std::shared_ptr<Signal> wake_ = std::make_shared<Signal>(executor_);
  // Of the newest try; null: there was none.
  std::shared_ptr<const RouteTable> routed_by_;
  DeathBlame blame_;
  // When to stop trying to reach a worker; unset: the newest try did.
  std::optional<TimePoint> give_up_;
  // Key of the gate that this call holds; empty: none.
  std::string gate_held_;
  const std::shared_ptr<void> running_;
};

template <typename Response, typename StartFunction>
Task<absl::StatusOr<Response>> CallModel(Upstream& upstream, ModelCall call, Executor executor, StartFunction start) {
  if (absl::Status allowed = upstream.poison.Check(*call.request, call.caller); !allowed.ok()) co_return allowed;
  CallTries tries(upstream, call, executor);
  while (true) {
    absl::StatusOr<std::shared_ptr<WorkerConnection>> worker = co_await tries.NextWorker();
    if (!worker.ok()) co_return worker.status();
    auto start_there = [&](const std::shared_ptr<grpc::ClientContext>& context, Response* response,
                           std::function<void(grpc::Status)> done) {
      tries.Begin(context);
      start(**worker, context, response, std::move(done));
    };
    CallResult<Response> result =
        co_await CallWorker<Response>(executor, call.deadline, call.request_id, start_there, call.parent);
    if (result.end.status.ok()) co_return std::move(result.response);
    if (std::optional<absl::Status> status = tries.AfterEnd(result.end)) co_return *std::move(status);
  }
}

}  // namespace inferd::gateway
