// Follows the supervisor's routes (Admin.WatchRoutes) on a thread of its own, tells it which table has been applied,
// and keeps the last one when the supervisor cannot be reached.
//
//   RouteFollower follower("unix:/run/inferd/admin.sock", routes);
#pragma once

#include <memory>
#include <string>

namespace inferd::gateway {

class Routes;

class RouteFollower {
 public:
  RouteFollower(const std::string& admin_target, Routes& routes);
  // Stops following.
  ~RouteFollower();

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace inferd::gateway
