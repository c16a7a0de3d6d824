#include "gateway/grpc/generate_reactor.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include "config/base/status.h"
#include "gateway/calls/generation_set.h"
#include "gateway/calls/resume_record.h"
#include "gateway/grpc/grpc_request.h"
#include "gateway/serving/token_times.h"
#include "proto/deadline.h"

namespace inferd::gateway {
namespace {

// Before the worker does: the time that is left when it gets the request is another one.
absl::Status CheckDeadline(const v1::GenerateRequest& request) {
  return request.has_deadline_ms() ? inferd::CheckDeadline(request.deadline_ms()) : absl::OkStatus();
}

}  // namespace

// Shared by the reactor (until OnDone) and the coroutine (until its end); whichever is last.
struct GenerateReactor::State {
  State(const Executor& on, const Serving& shared, Access& keys, grpc::CallbackServerContext& context,
        const grpc::ByteBuffer& message, OpenCalls& all)
      : executor(on),
        serving(shared),
        access(keys),
        call(context, shared, "Generate"),
        bytes(message),
        write_done(on),
        calls(all) {}

  const Executor executor;
  const Serving serving;
  Access& access;
  GrpcRequest call;
  grpc::ByteBuffer bytes;
  v1::GenerateRequest request;
  GenerateReactor* reactor = nullptr;
  // The rest is touched on the executor's thread alone.
  Signal write_done;
  bool write_ok = true;
  bool cancelled = false;
  GenerationSet* set = nullptr;
  OpenCalls& calls;
};

GenerateReactor* GenerateReactor::Start(const Executor& executor, const Serving& serving, Access& access,
                                        grpc::CallbackServerContext& context, const grpc::ByteBuffer& bytes,
                                        OpenCalls& calls) {
  auto state = std::make_shared<State>(executor, serving, access, context, bytes, calls);
  auto* reactor = new GenerateReactor(state);
  state->reactor = reactor;
  calls.Enter();
  boost::asio::co_spawn(executor, Run(state), boost::asio::detached);
  return reactor;
}

void GenerateReactor::OnWriteDone(bool ok) {
  boost::asio::post(state_->executor, [state = state_, ok] {
    state->write_ok = ok;
    state->write_done.Notify();
  });
}

void GenerateReactor::OnCancel() {
  boost::asio::post(state_->executor, [state = state_] {
    state->cancelled = true;
    if (state->set != nullptr) state->set->Cancel();
  });
}

void GenerateReactor::OnDone() {
  OpenCalls& calls = state_->calls;
  delete this;
  calls.Leave();
}

Task<void> GenerateReactor::Run(std::shared_ptr<State> state) {
  absl::Status status = Read(*state);
  if (status.ok()) status = co_await SendEvents(*state);
  state->reactor->Finish(state->call.End(status));
}

absl::Status GenerateReactor::Read(State& state) {
  v1::GenerateRequest& request = state.request;
  RETURN_IF_ERROR(state.call.Admit(state.access, state.bytes, request));
  state.bytes.Clear();
  state.call.OfferId(request.request_id());
  ASSIGN_OR_RETURN(*request.mutable_model(), state.call.Resolve(request.model()));
  RETURN_IF_ERROR(CheckDeadline(request));
  RETURN_IF_ERROR(CheckResumeTokens(request));
  state.call.CountAnswers(state.access, request.choices());
  request.set_request_id(state.call.served().request_id);
  request.set_cache_salt(CacheSaltOf(state.call.served().key.get(), request.cache_salt()));
  return absl::OkStatus();
}

// A choice that failed says so to the client as an error of the call would.
void GenerateReactor::HideInternals(v1::Finished& finished, GrpcRequest& call) {
  if (absl::Status error = ErrorOf(finished); absl::IsInternal(error)) {
    finished.set_error(NoteError(error, call.served()).message);
    finished.clear_error_field();
  }
}

Task<absl::Status> GenerateReactor::SendEvents(State& state) {
  ModelCall call = state.call.MakeCall(state.request.model(), state.request.user());
  Generation::Options options;
  options.sticky = call.sticky;
  options.request_id = call.request_id;
  options.caller = call.caller;
  options.deadline = call.deadline;
  if (state.request.has_deadline_ms()) {
    options.deadline = std::min(options.deadline,
                                state.call.served().arrived + std::chrono::milliseconds(state.request.deadline_ms()));
  }
  std::vector<v1::GenerateRequest> requests;
  requests.push_back(std::move(state.request));
  GenerationSet set(state.serving.upstream, std::move(requests), options, state.executor);
  state.set = &set;
  if (state.cancelled) set.Cancel();
  TokenTimes times(state.serving.metrics, state.call.served().record, state.call.served().arrived);
  std::optional<absl::Status> end;
  while (!end) {
    GenerationSet::Batch batch = co_await set.Next(TimePoint::max());
    times.Take(batch);
    for (auto& [prompt, event] : batch.events) {
      if (event.has_finished()) HideInternals(*event.mutable_finished(), state.call);
      const grpc::ByteBuffer bytes = SerializeMessage(event);
      state.reactor->StartWrite(&bytes);
      co_await state.write_done.Wait(TimePoint::max());
      if (!state.write_ok) break;
    }
    end = state.write_ok ? batch.end : std::optional<absl::Status>(Cancelled("the client is gone"));
  }
  state.set = nullptr;
  co_return *end;
}

}  // namespace inferd::gateway
