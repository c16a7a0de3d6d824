// One Generate call to one worker, read by gRPC's threads and consumed by one coroutine in batches. If the consumer is
// slower than the worker, reading pauses (and gRPC's flow control holds the worker's stream) at kMaxWaitingEvents.
//
//   auto call = GenerateCall::Start(worker, request, {.deadline = deadline, .request_id = id}, executor);
//   while (true) {
//     EventBatch batch = co_await call->Next(deadline);
//     for (const v1::GenerateEvent& event : batch.events) ...
//     if (batch.end) break;
//   }
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "gateway/async/signal.h"
#include "gateway/routing/call_status.h"
#include "gateway/routing/worker_pool.h"

namespace inferd::gateway {

// Events in order; `end` after the last. Both empty: the deadline of Next() passed.
struct EventBatch {
  std::vector<v1::GenerateEvent> events;
  std::optional<CallEnd> end;
};

class GenerateCall : public grpc::ClientReadReactor<v1::GenerateEvent>,
                     public std::enable_shared_from_this<GenerateCall> {
 public:
  struct Options {
    // TimePoint::max(): none.
    TimePoint deadline = TimePoint::max();
    std::string request_id;
  };
  static constexpr size_t kMaxWaitingEvents = 1024;

  // `executor` is the consumer's; the call lives until gRPC is done with it, also without a consumer.
  static std::shared_ptr<GenerateCall> Start(std::shared_ptr<WorkerConnection> worker,
                                             const v1::GenerateRequest& request, const Options& options,
                                             const Executor& executor);

  // Waits for at least one event or the end. On the executor's thread.
  Task<EventBatch> Next(TimePoint deadline);
  // From any thread; the end comes soon after, as CANCELLED.
  void Cancel();

  GenerateCall(std::shared_ptr<WorkerConnection> worker, const Executor& executor);

 private:
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;
  // What waits, and goes on reading if that was paused.
  EventBatch Take();
  // Wakes the consumer once for all that came since it last looked.
  void Wake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<WorkerConnection> worker_;
  grpc::ClientContext context_;
  // Written by gRPC between StartRead() and OnReadDone().
  v1::GenerateEvent incoming_;
  const Executor executor_;
  // Used on the executor's thread alone.
  Signal changed_;

  absl::Mutex mutex_;
  EventBatch waiting_ ABSL_GUARDED_BY(mutex_);
  // No read is under way; a hold keeps gRPC from ending the call meanwhile.
  bool paused_ ABSL_GUARDED_BY(mutex_) = false;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  // Until OnDone.
  std::shared_ptr<GenerateCall> self_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace inferd::gateway
