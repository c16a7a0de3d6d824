// One call of Generate, from the request to the last event. Start reads like the life of a request.
//
//   grpc::ServerWriteReactor<v1::GenerateEvent>* Generate(context, request) {
//     return GenerateStream::Start(model, threads, *context, *request);
//   }
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "config/base/warning.h"
#include "engine/generation/event_queue.h"
#include "inferd/v1/inference.pb.h"
#include "worker/loaded_model.h"
#include "worker/outgoing.h"
#include "worker/service_threads.h"

namespace inferd::worker {

class GenerateStream : public grpc::ServerWriteReactor<v1::GenerateEvent>,
                       public Deliverable,
                       public std::enable_shared_from_this<GenerateStream> {
 public:
  // The stream lives until gRPC is done with it. `model` and `threads` outlive it, `request` lives as long.
  static grpc::ServerWriteReactor<v1::GenerateEvent>* Start(const LoadedModel& model, ServiceThreads& threads,
                                                            grpc::CallbackServerContext& context,
                                                            const v1::GenerateRequest& request);

  GenerateStream(const LoadedModel& model, ServiceThreads& threads, grpc::CallbackServerContext& context);

  // Sends what waits, one write at a time, and the end after it.
  void WriteNext() override;

 private:
  absl::Status Submit(const v1::GenerateRequest& request);
  // Returns when the client has been told that work has begun.
  void TellBegun();
  void TellOfRequest(v1::Accepted& accepted) const;
  void OnSendInitialMetadataDone(bool) override { told_begun_.Notify(); }
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;
  void CancelInEngine();
  void End(const absl::Status& status);
  void LogEnd(const absl::Status& status) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const LoadedModel& model_;
  ServiceThreads& threads_;
  grpc::CallbackServerContext& context_;
  const MonotonicTime arrival_;
  std::string request_id_;
  int64_t rendered_unix_seconds_ = 0;
  std::vector<Warning> warnings_;         // told with `accepted`
  std::shared_ptr<GenerateStream> self_;  // until OnDone
  std::shared_ptr<engine::EventQueue> queue_;
  std::atomic<engine::RequestId> engine_id_ = 0;
  std::atomic<bool> cancelled_ = false;
  absl::Notification told_begun_;

  absl::Mutex mutex_;
  Outgoing outgoing_ ABSL_GUARDED_BY(mutex_);
  v1::GenerateEvent written_;  // of the write under way
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  // `waiting` is to be sent, unless the first event comes before it.
  bool tells_waiting_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace inferd::worker
