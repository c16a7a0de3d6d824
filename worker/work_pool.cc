// A queue under a mutex.
#include "worker/work_pool.h"

#include <utility>

#include "config/base/status.h"

namespace inferd::worker {

WorkPool::WorkPool(int threads, size_t most_waiting) : most_waiting_(most_waiting) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Loop(); });
}

WorkPool::~WorkPool() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

absl::Status WorkPool::Run(std::function<void()> work) {
  absl::MutexLock lock(&mutex_);
  if (waiting_.size() >= most_waiting_) {
    return ResourceExhausted("queue is full: {} requests wait for their prompts to be read", waiting_.size());
  }
  waiting_.push_back(std::move(work));
  return absl::OkStatus();
}

void WorkPool::Loop() {
  while (true) {
    std::function<void()> work;
    {
      absl::MutexLock lock(&mutex_);
      const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !waiting_.empty(); };
      mutex_.Await(absl::Condition(&ready));
      if (waiting_.empty()) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    work();
  }
}

}  // namespace inferd::worker
