// The routing table as the gateway sees it: snapshots with rising revisions, the newest given to each watcher. A change
// is in force once the watchers that route by the tables have told that they have applied it.
//
//   RouteBoard board;
//   uint64_t id = board.Watch([&](std::shared_ptr<const v1::RouteSnapshot> snapshot) { ... });   // called at once, too
//   board.Publish(std::move(snapshot));                  // does nothing if only the revision would differ
//   board.WhenInForce([&] { answer the operator });
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

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

  // Calls `watcher` with the newest snapshot before it returns, then at each change. One that `applies` what it gets
  // will call Applied.
  uint64_t Watch(Watcher watcher, bool applies = false);
  void Unwatch(uint64_t id);
  // The watcher routes by the table of this revision.
  void Applied(uint64_t id, uint64_t revision);

  // Whether all watchers that apply tables have applied the newest.
  bool InForce() const;
  // Calls `then` once that is so, which may be before this returns.
  void WhenInForce(std::function<void()> then);

  const Snapshot& newest() const { return newest_; }
  uint64_t revision() const;

 private:
  struct Entry {
    Watcher watcher;
    bool applies = false;
    uint64_t applied = 0;
  };

  void CallTheWaiting();

  Snapshot newest_;
  uint64_t next_id_ = 1;
  std::map<uint64_t, Entry> watchers_;
  std::vector<std::function<void()>> waiting_;
};

}  // namespace inferd::daemon
