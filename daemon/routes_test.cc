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

TEST(RouteBoard, AChangeIsInForceOnceEachWatcherThatAppliesHasAppliedIt) {
  RouteBoard board;
  const auto ignore = [](RouteBoard::Snapshot) {};
  board.Watch(ignore);  // looks on alone
  const uint64_t first = board.Watch(ignore, /*applies=*/true);
  const uint64_t second = board.Watch(ignore, /*applies=*/true);
  board.Publish(SnapshotOf("a"));
  int calls = 0;
  board.WhenInForce([&] { ++calls; });
  board.Applied(first, 1);
  board.Applied(second, 0);
  EXPECT_FALSE(board.InForce());
  EXPECT_EQ(calls, 0);
  board.Applied(second, 1);
  EXPECT_TRUE(board.InForce());
  EXPECT_EQ(calls, 1);
  board.WhenInForce([&] { ++calls; });
  EXPECT_EQ(calls, 2);
  board.Publish(SnapshotOf("b"));
  board.WhenInForce([&] { ++calls; });
  board.Applied(first, 2);
  board.Applied(first, 1);  // an older word takes nothing back
  EXPECT_EQ(calls, 2);
  board.Unwatch(second);
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace inferd::daemon
