#include "gateway/routing/resume_gate.h"

#include <algorithm>
#include <boost/asio/post.hpp>

namespace inferd::gateway {

struct ResumeGate::Waiter {
  Executor executor;
  std::shared_ptr<Signal> turn;
};

bool ResumeGate::TryEnter(const std::string& key) {
  absl::MutexLock lock(&mutex_);
  return !std::exchange(entries_[key].taken, true);
}

void ResumeGate::Leave(const std::string& key) {
  std::vector<std::weak_ptr<Waiter>> waiters;
  {
    absl::MutexLock lock(&mutex_);
    auto entry = entries_.find(key);
    if (entry == entries_.end()) return;
    waiters = std::move(entry->second.waiters);
    entries_.erase(entry);
  }
  for (const auto& weak : waiters) {
    if (auto waiter = weak.lock()) boost::asio::post(waiter->executor, [waiter] { waiter->turn->Notify(); });
  }
}

size_t ResumeGate::waiting(const std::string& key) const {
  absl::MutexLock lock(&mutex_);
  const auto entry = entries_.find(key);
  if (entry == entries_.end()) return 0;
  const auto& waiters = entry->second.waiters;
  return static_cast<size_t>(std::ranges::count_if(waiters, [](const auto& waiter) { return !waiter.expired(); }));
}

Task<void> ResumeGate::WaitForTurn(std::string key, Executor executor, TimePoint deadline,
                                   std::shared_ptr<Signal> turn) {
  auto waiter = std::make_shared<Waiter>(Waiter{executor, std::move(turn)});
  {
    absl::MutexLock lock(&mutex_);
    auto entry = entries_.find(key);
    if (entry == entries_.end() || !entry->second.taken) co_return;
    entry->second.waiters.push_back(waiter);
  }
  co_await waiter->turn->Wait(deadline);
}

}  // namespace inferd::gateway
