// A queue under a mutex. It is bounded by gRPC: a call waits here before its client may expect anything.
#include "worker/work_pool.h"

#include <utility>

namespace inferd::worker {

WorkPool::WorkPool(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Loop(); });
}

WorkPool::~WorkPool() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

void WorkPool::Run(std::function<void()> work) {
  absl::MutexLock lock(&mutex_);
  waiting_.push_back(std::move(work));
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
