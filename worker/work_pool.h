// Threads for what a call needs before the engine gets it: rendering templates and making tokens of long texts. gRPC's
// own threads stay free, so that health and statistics answer at once.
//
//   WorkPool pool(2);
//   RETURN_IF_ERROR(pool.Run([stream] { stream->Submit(); }));
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace inferd::worker {

class WorkPool {
 public:
  explicit WorkPool(int threads, size_t most_waiting = 4096);
  // Everything given before is run.
  ~WorkPool();

  // RESOURCE_EXHAUSTED: too much is waiting already; this will not run.
  absl::Status Run(std::function<void()> work);

 private:
  void Loop();

  const size_t most_waiting_;
  absl::Mutex mutex_;
  std::deque<std::function<void()>> waiting_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace inferd::worker
