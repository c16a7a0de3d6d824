#include "gateway/routing/routes.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace inferd::gateway {

struct Routes::Waiter {
  Executor executor;
  std::shared_ptr<Signal> updated;
};

Routes::Routes() : table_(std::make_shared<const RouteTable>()) {}

std::shared_ptr<const RouteTable> Routes::Current() const {
  absl::MutexLock lock(&mutex_);
  return table_;
}

bool Routes::known() const {
  absl::MutexLock lock(&mutex_);
  return known_;
}

void Routes::Update(std::shared_ptr<const RouteTable> table) {
  std::vector<std::weak_ptr<Waiter>> waiters;
  {
    absl::MutexLock lock(&mutex_);
    table_ = table;
    known_ = true;
    waiters = std::exchange(waiters_, {});
  }
  for (const auto& weak : waiters) {
    if (auto waiter = weak.lock()) boost::asio::post(waiter->executor, [waiter] { waiter->updated->Notify(); });
  }
  if (on_update_) on_update_(*table);
}

Task<void> Routes::WaitForUpdate(std::shared_ptr<const RouteTable> seen, Executor executor, TimePoint deadline,
                                 std::shared_ptr<Signal> woken) {
  if (woken == nullptr) woken = std::make_shared<Signal>(executor);
  auto waiter = std::make_shared<Waiter>(Waiter{executor, std::move(woken)});
  {
    absl::MutexLock lock(&mutex_);
    if (table_ != seen) co_return;
    waiters_.push_back(waiter);
  }
  co_await waiter->updated->Wait(deadline);
}

}  // namespace inferd::gateway
