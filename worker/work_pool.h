// Threads for what a call needs before the engine gets it: rendering templates and making tokens of long texts. gRPC's
// own threads stay free, so that health and statistics answer at once. A text of megabytes takes seconds: one thread is
// kept for small work, which waits for no large one.
//
//   WorkPool pool(2);
//   RETURN_IF_ERROR(pool.Run(request.ByteSizeLong(), [stream] { stream->Submit(); }));
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
  // Work with more than this to read is large.
  static constexpr size_t kLargeBytes = 256 << 10;

  explicit WorkPool(int threads, size_t most_waiting = 4096);
  // Everything given before is run.
  ~WorkPool();

  // RESOURCE_EXHAUSTED with a time to retry after (engine/generation/refusal.h): too much is waiting already; this will
  // not run.
  absl::Status Run(size_t bytes, std::function<void()> work);

 private:
  struct Work {
    bool large;
    std::function<void()> run;
  };

  void Loop();
  bool MayRun(const Work& work) const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return !work.large || large_running_ < most_large_;
  }
  // Whether a thread has something to do, the end included.
  bool IsWanted() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // The oldest that may run.
  Work Take() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t most_waiting_;
  const int most_large_;
  absl::Mutex mutex_;
  std::deque<Work> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t large_waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  int large_running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace inferd::worker
