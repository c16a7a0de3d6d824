// How many connections of clients may be open at once, on all ports together.
//
//   ConnectionLimit limit(16384);
//   if (limit.HasRoom()) { limit.Opened(); ...; limit.Closed(); }
//   limit.OpenedElsewhere(fd);   // counts until whoever owns the descriptor closes it
#pragma once

#include <sys/types.h>

#include <chrono>
#include <unordered_map>

#include "absl/base/thread_annotations.h"
#include "config/base/steady_mutex.h"

namespace inferd::gateway {

// Safe for use by several threads.
class ConnectionLimit {
 public:
  explicit ConnectionLimit(size_t most) : most_(most) {}

  bool HasRoom();

  // One of our own was opened, or closed.
  void Opened();
  void Closed();
  // A connected socket of a library that does not say when it closes it; still open now.
  void OpenedElsewhere(int fd);

  // Our own that are open.
  int open() const;
  // Waits until none of our own is; false if the deadline passed first.
  bool AwaitNone(std::chrono::steady_clock::time_point deadline) const;

 private:
  size_t OpenEverywhere() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropClosed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t most_;
  mutable SteadyMutex mutex_;
  int open_ ABSL_GUARDED_BY(mutex_) = 0;
  // Descriptor and inode: the number of a closed descriptor is soon used again, the inode is not.
  std::unordered_map<int, ino_t> elsewhere_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace inferd::gateway
