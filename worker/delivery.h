// One thread that writes events to clients, so that the engine's thread never waits for gRPC.
//
//   Delivery delivery;
//   delivery.Wake(stream);          // any thread: stream->WriteNext() runs soon on the delivery's thread
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace inferd::worker {

class Deliverable {
 public:
  virtual ~Deliverable() = default;
  // Must not wait.
  virtual void WriteNext() = 0;
};

class Delivery {
 public:
  Delivery();
  // What was woken before is written before it returns.
  ~Delivery();

  void Wake(std::shared_ptr<Deliverable> stream);

 private:
  void Run();

  absl::Mutex mutex_;
  std::vector<std::shared_ptr<Deliverable>> awake_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace inferd::worker
