// The generations and unary calls of all threads, so that those that are left can be told when the time for them is
// over.
//
//   auto entry = running.Add(executor, [this](const absl::Status& why) { EndWith(why); });   // gone with the entry
//   running.EndAll(absl::UnavailableError("the daemon ends"));
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "gateway/async/task.h"

namespace inferd::gateway {

// Safe for use by several threads.
class RunningGenerations {
 public:
  using End = std::function<void(const absl::Status&)>;

  // `end` is called on `executor`, where the entry is also to be released; after that it is not.
  std::shared_ptr<void> Add(const Executor& executor, End end);
  // Also those that are added later, at once.
  void EndAll(const absl::Status& why);
  // What EndAll was told; OK before.
  absl::Status ended();

 private:
  struct Entry {
    Executor executor;
    End end;
  };
  static void Post(const std::weak_ptr<Entry>& entry, const Executor& executor, const absl::Status& why);

  absl::Mutex mutex_;
  std::vector<std::weak_ptr<Entry>> entries_ ABSL_GUARDED_BY(mutex_);
  size_t clean_at_ ABSL_GUARDED_BY(mutex_) = 64;
  absl::Status ended_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace inferd::gateway
