#include "daemon/routes.h"

#include <gtest/gtest.h>

#include <vector>

#include "inferd/v1/admin.pb.h"

namespace inferd::daemon {
namespace {

v1::RouteSnapshot SnapshotOf(const std::string& model) {
  v1::RouteSnapshot snapshot;
  snapshot.add_routes()->set_model(model);
  return snapshot;
}

TEST(RouteBoard, RevisionRisesWithEachChangeAndWithNothingElse) {
  RouteBoard board;
  EXPECT_EQ(board.Publish({}), 1u);  // also the empty table is news once
  EXPECT_EQ(board.Publish({}), 1u);
  EXPECT_EQ(board.Publish(SnapshotOf("a")), 2u);
  EXPECT_EQ(board.Publish(SnapshotOf("a")), 2u);
  EXPECT_EQ(board.Publish(SnapshotOf("b")), 3u);
}

TEST(RouteBoard, WatcherGetsTheNewestAtOnceAndThenEachChange) {
  RouteBoard board;
  board.Publish(SnapshotOf("a"));
  std::vector<uint64_t> seen;
  const uint64_t id = board.Watch([&](RouteBoard::Snapshot snapshot) { seen.push_back(snapshot->revision()); });
  board.Publish(SnapshotOf("a"));
  board.Publish(SnapshotOf("b"));
  board.Unwatch(id);
  board.Publish(SnapshotOf("c"));
  EXPECT_EQ(seen, (std::vector<uint64_t>{1, 2}));
}

TEST(RouteBoard, WatcherMayLeaveWhileItIsCalled) {
  RouteBoard board;
  uint64_t id = 0;
  int calls = 0;
  id = board.Watch([&](RouteBoard::Snapshot) {
    ++calls;
    board.Unwatch(id);
  });
  board.Publish(SnapshotOf("a"));
  board.Publish(SnapshotOf("b"));
  EXPECT_EQ(calls, 2);  // the one at Watch, when it had no id yet, and one change
}

TEST(RouteBoard, SnapshotInHandDoesNotChange) {
  RouteBoard board;
  board.Publish(SnapshotOf("a"));
  const RouteBoard::Snapshot kept = board.newest();
  board.Publish(SnapshotOf("b"));
  EXPECT_EQ(kept->routes(0).model(), "a");
}

}  // namespace
}  // namespace inferd::daemon
