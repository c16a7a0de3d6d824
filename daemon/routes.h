// The routing table as the gateway sees it: snapshots with rising revisions, the newest given to each watcher.
//
//   RouteBoard board;
//   uint64_t id = board.Watch([&](std::shared_ptr<const v1::RouteSnapshot> snapshot) { ... });   // called at once, too
//   board.Publish(std::move(snapshot));                  // does nothing if only the revision would differ
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

namespace inferd::v1 {
class RouteSnapshot;
}

namespace inferd::daemon {

// Used on the loop's thread alone.
class RouteBoard {
 public:
  using Snapshot = std::shared_ptr<const v1::RouteSnapshot>;
  using Watcher = std::function<void(Snapshot)>;

  RouteBoard();

  // Gives the snapshot the next revision and tells the watchers. Returns the revision in force.
  uint64_t Publish(v1::RouteSnapshot snapshot);

  // Calls `watcher` with the newest snapshot before it returns, then at each change.
  uint64_t Watch(Watcher watcher);
  void Unwatch(uint64_t id) { watchers_.erase(id); }

  const Snapshot& newest() const { return newest_; }
  uint64_t revision() const;

 private:
  Snapshot newest_;
  uint64_t next_id_ = 1;
  std::map<uint64_t, Watcher> watchers_;
};

}  // namespace inferd::daemon
