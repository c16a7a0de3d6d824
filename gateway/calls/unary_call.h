// A unary call to a worker, awaited.
//
//   CallResult<v1::TokenizeResponse> result = co_await CallWorker<v1::TokenizeResponse>(
//       executor, deadline, request_id, [&](const auto& context, auto* response, auto done) {
//         worker->inference->async()->Tokenize(context.get(), &request, response, std::move(done));
//       });
#pragma once

#include <grpcpp/grpcpp.h>

#include <boost/asio/post.hpp>
#include <functional>
#include <memory>
#include <string>

#include "gateway/async/signal.h"
#include "gateway/calls/deadlines.h"
#include "gateway/routing/call_status.h"

namespace inferd::gateway {

template <typename Response>
struct CallResult {
  CallEnd end;
  Response response;
};

// `start(context, response, done)` starts the call on a stub and is called at once. The context is gone soon after the
// call's end: what may outlive that holds a weak_ptr. With `parent`, a call of a client, the call ends when that is
// cancelled.
template <typename Response, typename StartFunction>
Task<CallResult<Response>> CallWorker(Executor executor, TimePoint deadline, std::string request_id,
                                      StartFunction start, grpc::CallbackServerContext* parent = nullptr) {
  struct State {
    explicit State(const Executor& on) : done(on) {}
    std::shared_ptr<grpc::ClientContext> context;
    Response response;
    grpc::Status status;
    Signal done;
  };
  auto state = std::make_shared<State>(executor);
  state->context = parent == nullptr ? std::make_shared<grpc::ClientContext>()
                                     : std::shared_ptr(grpc::ClientContext::FromCallbackServerContext(*parent));
  SetDeadline(*state->context, deadline);
  state->context->AddMetadata("x-request-id", request_id);
  auto done = [state, executor](grpc::Status status) {
    boost::asio::post(executor, [state, status = std::move(status)] {
      state->status = status;
      state->done.Notify();
    });
  };
  start(state->context, &state->response, std::function<void(grpc::Status)>(std::move(done)));
  co_await state->done.Wait(TimePoint::max());
  CallResult<Response> result{ReadEnd(state->status, *state->context), std::move(state->response)};
  co_return result;
}

}  // namespace inferd::gateway
