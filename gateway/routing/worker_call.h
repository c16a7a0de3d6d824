// A unary call to whichever worker serves a model, once more on another if the first died.
//
//   absl::StatusOr<v1::TokenizeResponse> answer = co_await CallModel<v1::TokenizeResponse>(
//       upstream, {.model = "chat", .deadline = deadline, .request_id = id}, executor,
//       [&](WorkerConnection& worker, const auto& context, auto* response, auto done) {
//         worker.inference->async()->Tokenize(context.get(), &request, response, std::move(done));
//       });
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gateway/routing/generation.h"
#include "gateway/routing/routes.h"
#include "gateway/routing/unary_call.h"

namespace inferd::gateway {

struct ModelCall {
  std::string model;
  uint64_t sticky = 0;
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

template <typename Response, typename StartFunction>
Task<absl::StatusOr<Response>> CallModel(Upstream& upstream, ModelCall call, Executor executor, StartFunction start) {
  constexpr int kTries = 2;
  absl::Status last;
  for (int i = 0; i < kTries; ++i) {
    absl::StatusOr<std::shared_ptr<WorkerConnection>> worker = co_await FindWorker(upstream, call, executor);
    if (!worker.ok()) co_return worker.status();
    auto start_there = [&](const std::shared_ptr<grpc::ClientContext>& context, Response* response,
                           std::function<void(grpc::Status)> done) {
      start(**worker, context, response, std::move(done));
    };
    CallResult<Response> result =
        co_await CallWorker<Response>(executor, call.deadline, call.request_id, start_there, call.parent);
    if (result.end.status.ok()) co_return std::move(result.response);
    last = result.end.status;
    if (result.end.outcome == CallOutcome::kAnswered || i + 1 == kTries) break;
    std::shared_ptr<const RouteTable> table = upstream.routes.Current();
    co_await upstream.routes.WaitForUpdate(table, executor,
                                           std::chrono::steady_clock::now() + std::chrono::milliseconds(100));
  }
  co_return last;
}

}  // namespace inferd::gateway
