#include "daemon/routes.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <utility>

#include "inferd/v1/admin.pb.h"

namespace inferd::daemon {

RouteBoard::RouteBoard() : newest_(std::make_shared<v1::RouteSnapshot>()) {}

uint64_t RouteBoard::revision() const { return newest_->revision(); }

uint64_t RouteBoard::Publish(v1::RouteSnapshot snapshot) {
  snapshot.set_revision(newest_->revision());
  // The empty table is published once, so that a gateway knows that there is nothing to wait for.
  if (revision() != 0 && google::protobuf::util::MessageDifferencer::Equals(snapshot, *newest_)) return revision();
  snapshot.set_revision(newest_->revision() + 1);
  newest_ = std::make_shared<const v1::RouteSnapshot>(std::move(snapshot));
  const std::map<uint64_t, Entry> watchers = watchers_;  // one may leave while it is called
  for (const auto& [id, entry] : watchers) entry.watcher(newest_);
  return revision();
}

uint64_t RouteBoard::Watch(Watcher watcher, bool applies) {
  watcher(newest_);
  const uint64_t id = next_id_++;
  watchers_.emplace(id, Entry{.watcher = std::move(watcher), .applies = applies});
  return id;
}

void RouteBoard::Unwatch(uint64_t id) {
  watchers_.erase(id);
  CallTheWaiting();
}

void RouteBoard::Applied(uint64_t id, uint64_t revision) {
  const auto found = watchers_.find(id);
  if (found == watchers_.end()) return;
  found->second.applied = std::max(found->second.applied, revision);
  CallTheWaiting();
}

bool RouteBoard::InForce() const {
  return std::ranges::all_of(watchers_, [this](const auto& watcher) {
    return !watcher.second.applies || watcher.second.applied >= revision();
  });
}

void RouteBoard::WhenInForce(std::function<void()> then) {
  waiting_.push_back(std::move(then));
  CallTheWaiting();
}

void RouteBoard::CallTheWaiting() {
  if (!InForce()) return;
  for (const std::function<void()>& then : std::exchange(waiting_, {})) then();
}

}  // namespace inferd::daemon
