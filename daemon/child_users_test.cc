#include "daemon/child_users.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

namespace inferd::daemon {
namespace {

TEST(ChildUsers, AreDifferentOnes) {
  const ChildUsers users(700, gid_t{27});
  std::set<uint32_t> taken;
  for (int i = 0; i < 500; ++i) {
    EXPECT_TRUE(taken.insert(users.ForWorker([&](uint32_t user) { return taken.contains(user); })).second) << i;
  }
  EXPECT_FALSE(taken.contains(users.gateway()));
  EXPECT_FALSE(taken.contains(users.check()));
  EXPECT_NE(users.gateway(), users.check());
  EXPECT_EQ(*taken.begin(), 702u);
  EXPECT_EQ(*taken.rbegin(), 1201u);
  EXPECT_EQ(users.operators(), gid_t{27});
  taken.erase(703);  // one that ended
  EXPECT_EQ(users.ForWorker([&](uint32_t user) { return taken.contains(user); }), 703u);
}

TEST(ChildUsers, AreTheDaemonsWhereThereAreNone) {
  const ChildUsers none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.gateway() + none.check() + none.ForWorker([](uint32_t) { return true; }), 0u);
  EXPECT_FALSE(none.operators());
}

TEST(ChildUsers, AreChosenByRootAlone) {
  const ChildUsers unwanted = ChildUsers::Choose(0, "");
  EXPECT_FALSE(unwanted);
  EXPECT_EQ(unwanted.why(), geteuid() == 0 ? "--first-user is 0" : "");
  const ChildUsers chosen = ChildUsers::Choose(kFirstUser, "");
  EXPECT_EQ(static_cast<bool>(chosen), geteuid() == 0 && chosen.why().empty());
}

}  // namespace
}  // namespace inferd::daemon
