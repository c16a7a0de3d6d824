// See the header. Threads: Submit runs on one of the preparation's, WriteNext on the delivery's and gRPC's (under the
// mutex).
#include "worker/generate_stream.h"

#include <chrono>
#include <utility>

#include "config/base/log.h"
#include "config/base/status.h"
#include "proto/call_metadata.h"
#include "worker/call_deadline.h"
#include "worker/fill_warnings.h"
#include "worker/grpc_status.h"
#include "worker/prepared_request.h"
#include "worker/prompt.h"
#include "worker/request_id.h"
#include "worker/request_memory.h"

namespace inferd::worker {
namespace {

constexpr size_t kQueueBytes = 1 << 20;

}  // namespace

grpc::ServerWriteReactor<v1::GenerateEvent>* GenerateStream::Start(const LoadedModel& model, ServiceThreads& threads,
                                                                   grpc::CallbackServerContext& context,
                                                                   const v1::GenerateRequest& request) {
  auto stream = std::make_shared<GenerateStream>(model, threads, context);
  stream->self_ = stream;
  threads.streams.Enter();
  const absl::Status taken = threads.preparation.Run(request.ByteSizeLong(), [stream, &request] {
    if (absl::Status status = stream->Submit(request); !status.ok()) stream->End(status);
  });
  if (!taken.ok()) stream->End(taken);
  return stream.get();
}

GenerateStream::GenerateStream(const LoadedModel& model, ServiceThreads& threads, grpc::CallbackServerContext& context)
    : model_(model), threads_(threads), context_(context), arrival_(Clock::System().Now()), outgoing_(model) {}

// The life of a request up to the engine's queue: template, tokens, checks, admission.
absl::Status GenerateStream::Submit(const v1::GenerateRequest& wire) {
  request_id_ = RequestIdOf(wire.request_id(), context_);
  if (cancelled_) return Cancelled("the request was cancelled");
  TellBegun();
  rendered_unix_seconds_ = RenderTime(wire, Clock::System().WallNow());
  const PreparationTimes times{
      .rendered_unix_seconds = rendered_unix_seconds_, .arrival = arrival_, .deadline = DeadlineOf(context_, arrival_)};
  ASSIGN_OR_RETURN(PreparedRequest prepared,
                   threads_.memory->Within([&] { return PrepareRequest(model_, wire, times); }));
  warnings_ = std::move(prepared.warnings);
  // Nothing but this thread can end the stream before it is submitted.
  const std::shared_ptr<GenerateStream> self = self_;
  queue_ = std::make_shared<engine::EventQueue>(kQueueBytes, [weak = weak_from_this(), &delivery = threads_.delivery] {
    if (std::shared_ptr<GenerateStream> stream = weak.lock()) delivery.Wake(std::move(stream));
  });
  const engine::Statistics before = model_.engine->Stats();
  const bool others_come_first = before.requests_running + before.requests_waiting > 0;
  {
    absl::MutexLock lock(&mutex_);
    tells_waiting_ = others_come_first;
  }
  ASSIGN_OR_RETURN(const engine::RequestId id, model_.engine->Submit(std::move(prepared.request), queue_));
  engine_id_ = id;
  if (others_come_first) threads_.delivery.Wake(self);
  if (cancelled_) CancelInEngine();  // the call was cancelled before the engine knew it
  return absl::OkStatus();
}

void GenerateStream::TellBegun() {
  context_.AddInitialMetadata(kWorkBegun, "1");
  StartSendInitialMetadata();
  told_begun_.WaitForNotification();
}

void GenerateStream::TellOfRequest(v1::Accepted& accepted) const {
  accepted.set_rendered_unix_seconds(rendered_unix_seconds_);
  FillWarnings(warnings_, *accepted.mutable_warnings());
}

void GenerateStream::WriteNext() {
  absl::MutexLock lock(&mutex_);
  if (writing_ || ended_ || queue_ == nullptr) return;
  if (cancelled_) outgoing_.Drop(*queue_);
  std::optional<v1::GenerateEvent> event = outgoing_.Next(*queue_);
  if (std::exchange(tells_waiting_, false) && !event) event.emplace().mutable_waiting();
  if (event) {
    written_ = *std::move(event);
    if (written_.has_accepted()) TellOfRequest(*written_.mutable_accepted());
    writing_ = true;
    StartWrite(&written_);
    return;
  }
  if (const std::optional<absl::Status> status = queue_->End()) {
    ended_ = true;
    LogEnd(*status);
    Finish(ToGrpc(*status, context_));
  }
}

void GenerateStream::OnWriteDone(bool ok) {
  if (!ok) OnCancel();
  {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
  }
  WriteNext();
}

void GenerateStream::OnCancel() {
  cancelled_ = true;
  CancelInEngine();
}

void GenerateStream::CancelInEngine() {
  if (const engine::RequestId id = engine_id_; id != 0) model_.engine->Cancel(id);
}

void GenerateStream::OnDone() {
  OpenCalls& streams = threads_.streams;
  self_.reset();  // `this` may be gone
  streams.Leave();
}

// Before any event.
void GenerateStream::End(const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  ended_ = true;
  LogEnd(status);
  Finish(ToGrpc(status, context_));
}

void GenerateStream::LogEnd(const absl::Status& status) const {
  const double seconds = std::chrono::duration<double>(Clock::System().Now() - arrival_).count();
  LogInfo("request", {{"request_id", request_id_},
                      {"model", model_.options.name},
                      {"prompt_tokens", outgoing_.prompt_tokens()},
                      {"completion_tokens", outgoing_.completion_tokens()},
                      {"duration_ms", seconds * 1000},
                      {"tokens_per_second", seconds > 0 ? outgoing_.completion_tokens() / seconds : 0.0},
                      {"status", absl::StatusCodeToString(status.code())}});
}

}  // namespace inferd::worker
