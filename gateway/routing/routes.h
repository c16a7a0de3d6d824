// The newest routing table, for all threads, and waiting for the next one.
//
//   std::shared_ptr<const RouteTable> table = routes.Current();
//   if (!table->Find(name)->serving()) co_await routes.WaitForUpdate(table, executor, deadline);
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "gateway/async/signal.h"
#include "gateway/routing/route_table.h"

namespace inferd::gateway {

class Routes {
 public:
  Routes();

  // Never null; knows no model before the first update.
  std::shared_ptr<const RouteTable> Current() const;
  // Whether a table ever came.
  bool known() const;

  void Update(std::shared_ptr<const RouteTable> table);
  // Called after each update, on the thread that made it. To be set before the first.
  void OnUpdate(std::function<void(const RouteTable&)> callback) { on_update_ = std::move(callback); }

  // Until Current() differs from `seen`, or the deadline; runs on `executor`. `woken`, if given, is what is waited for:
  // who notifies it ends the wait, too.
  Task<void> WaitForUpdate(std::shared_ptr<const RouteTable> seen, Executor executor, TimePoint deadline,
                           std::shared_ptr<Signal> woken = nullptr);

 private:
  struct Waiter;

  mutable absl::Mutex mutex_;
  std::shared_ptr<const RouteTable> table_ ABSL_GUARDED_BY(mutex_);
  bool known_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::weak_ptr<Waiter>> waiters_ ABSL_GUARDED_BY(mutex_);
  std::function<void(const RouteTable&)> on_update_;
};

}  // namespace inferd::gateway
