// A unary call to whichever worker serves a model, again on the next one if it died (worker_search.h). When the time
// for requests under way is over (upstream.running), it ends with that status.
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
#include "gateway/calls/unary_call.h"
#include "gateway/routing/worker_pool.h"
#include "gateway/routing/worker_search.h"

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

template <typename Response, typename StartFunction>
Task<absl::StatusOr<Response>> CallModel(Upstream& upstream, ModelCall call, Executor executor, StartFunction start) {
  WorkerSearch search(upstream,
                      {.model = call.model,
                       .request = call.request,
                       .sticky = call.sticky,
                       .caller = call.caller,
                       .deadline = call.deadline,
                       .longest_turn = upstream.call_turn},
                      executor);
  while (true) {
    absl::StatusOr<std::shared_ptr<WorkerConnection>> worker = co_await search.Next();
    if (!worker.ok()) co_return worker.status();
    auto start_there = [&](const std::shared_ptr<grpc::ClientContext>& context, Response* response,
                           std::function<void(grpc::Status)> done) {
      start(**worker, context, response, std::move(done));
      search.Calling([weak = std::weak_ptr(context)] {
        if (const auto alive = weak.lock()) alive->TryCancel();
      });
    };
    CallResult<Response> result =
        co_await CallWorker<Response>(executor, call.deadline, call.request_id, start_there, call.parent);
    if (result.end.status.ok()) co_return std::move(result.response);
    if (std::optional<absl::Status> status = search.AfterEnd(result.end)) co_return *std::move(status);
  }
}

}  // namespace inferd::gateway
