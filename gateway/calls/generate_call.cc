#include "gateway/calls/generate_call.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "gateway/calls/deadlines.h"

namespace inferd::gateway {

GenerateCall::GenerateCall(std::shared_ptr<WorkerConnection> worker, const Executor& executor)
    : worker_(std::move(worker)), executor_(executor), changed_(executor) {}

std::shared_ptr<GenerateCall> GenerateCall::Start(std::shared_ptr<WorkerConnection> worker,
                                                  const v1::GenerateRequest& request, const Options& options,
                                                  const Executor& executor) {
  auto call = std::make_shared<GenerateCall>(std::move(worker), executor);
  SetDeadline(call->context_, options.deadline);
  call->context_.AddMetadata("x-request-id", options.request_id);
  {
    absl::MutexLock lock(&call->mutex_);
    call->self_ = call;
  }
  // gRPC serializes the request within this call.
  call->worker_->inference->async()->Generate(&call->context_, &request, call.get());
  call->StartRead(&call->incoming_);
  call->StartCall();
  return call;
}

void GenerateCall::OnReadDone(bool ok) {
  if (!ok) return;  // OnDone follows
  bool go_on;
  {
    absl::MutexLock lock(&mutex_);
    waiting_.events.push_back(std::move(incoming_));
    go_on = waiting_.events.size() < kMaxWaitingEvents;
    paused_ = !go_on;
    if (paused_) AddHold();
    Wake();
  }
  // Not under the lock: gRPC may call back from within.
  if (go_on) StartRead(&incoming_);
}

void GenerateCall::Cancel() {
  bool paused;
  {
    absl::MutexLock lock(&mutex_);
    paused = std::exchange(paused_, false);
  }
  context_.TryCancel();
  if (paused) RemoveHold();
}

void GenerateCall::OnDone(const grpc::Status& status) {
  std::shared_ptr<GenerateCall> self;  // goes after the lock: it may be the last reference
  absl::MutexLock lock(&mutex_);
  waiting_.end = ReadEnd(status, context_);
  Wake();
  self = std::move(self_);
}

void GenerateCall::Wake() {
  if (std::exchange(woken_, true)) return;
  boost::asio::post(executor_, [self = shared_from_this()] { self->changed_.Notify(); });
}

EventBatch GenerateCall::Take() {
  EventBatch batch;
  bool resume;
  {
    absl::MutexLock lock(&mutex_);
    woken_ = false;
    batch = std::exchange(waiting_, {});
    resume = std::exchange(paused_, false);
  }
  if (resume) {
    StartRead(&incoming_);
    RemoveHold();
  }
  return batch;
}

Task<EventBatch> GenerateCall::Next(TimePoint deadline) {
  while (true) {
    EventBatch batch = Take();
    if (!batch.events.empty() || batch.end) co_return batch;
    if (!co_await changed_.Wait(deadline)) co_return EventBatch();
  }
}

}  // namespace inferd::gateway
