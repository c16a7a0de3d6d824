#include "daemon/routes.h"

#include <google/protobuf/util/message_differencer.h>

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
  const std::map<uint64_t, Watcher> watchers = watchers_;  // one may leave while it is called
  for (const auto& [id, watcher] : watchers) watcher(newest_);
  return revision();
}

uint64_t RouteBoard::Watch(Watcher watcher) {
  watcher(newest_);
  const uint64_t id = next_id_++;
  watchers_.emplace(id, std::move(watcher));
  return id;
}

}  // namespace inferd::daemon
