// A queue under a mutex.
#include "worker/work_pool.h"

#include <algorithm>
#include <utility>

#include "config/base/status.h"
#include "engine/generation/refusal.h"

namespace inferd::worker {
namespace {

constexpr double kRetrySeconds = 1;  // prompts are read fast

}  // namespace

WorkPool::WorkPool(int threads, size_t most_waiting)
    : most_waiting_(most_waiting), most_large_(std::max(1, threads - 1)) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Loop(); });
}

WorkPool::~WorkPool() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

absl::Status WorkPool::Run(size_t bytes, std::function<void()> work) {
  absl::MutexLock lock(&mutex_);
  if (waiting_.size() >= most_waiting_) {
    return engine::RefusalStatus(
        {.reason = scheduler::RejectionReason::kQueueFull,
         .expected_wait_seconds = kRetrySeconds,
         .message = fmt::format("queue is full: {} requests wait for their prompts to be read", waiting_.size())});
  }
  const bool large = bytes > kLargeBytes;
  waiting_.push_back({large, std::move(work)});
  large_waiting_ += large ? 1 : 0;
  return absl::OkStatus();
}

bool WorkPool::IsWanted() const {
  const bool small_waits = waiting_.size() > large_waiting_;
  const bool large_may = large_waiting_ > 0 && large_running_ < most_large_;
  return small_waits || large_may || (stopping_ && waiting_.empty());
}

WorkPool::Work WorkPool::Take() {
  const auto oldest =
      std::find_if(waiting_.begin(), waiting_.end(),
                   [this](const Work& work) ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return MayRun(work); });
  Work work = std::move(*oldest);
  waiting_.erase(oldest);
  large_waiting_ -= work.large ? 1 : 0;
  large_running_ += work.large ? 1 : 0;
  return work;
}

void WorkPool::Loop() {
  while (true) {
    Work work;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &WorkPool::IsWanted));
      if (waiting_.empty()) return;
      work = Take();
    }
    work.run();
    absl::MutexLock lock(&mutex_);
    large_running_ -= work.large ? 1 : 0;
  }
}

}  // namespace inferd::worker
