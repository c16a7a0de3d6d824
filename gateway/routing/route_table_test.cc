#include "gateway/routing/route_table.h"

#include <gtest/gtest.h>

#include "inferd/v1/admin.pb.h"

namespace inferd::gateway {
namespace {

v1::RouteVersion* AddVersion(v1::Route& route, uint64_t version, uint32_t weight, const std::string& state) {
  v1::RouteVersion* added = route.add_versions();
  added->set_version(version);
  added->set_weight(weight);
  added->set_state(state);
  added->set_address("unix:/w/" + std::to_string(version));
  return added;
}

TEST(RouteTable, FindsByNameThenByAlias) {
  v1::RouteSnapshot snapshot;
  v1::Route* a = snapshot.add_routes();
  a->set_model("a");
  a->add_aliases("b");
  a->add_aliases("default");
  snapshot.add_routes()->set_model("b");
  RouteTable table(snapshot);
  EXPECT_EQ(table.Find("default")->model, "a");
  EXPECT_EQ(table.Find("b")->model, "b");
  EXPECT_EQ(table.Find("c"), nullptr);
}

TEST(RouteTable, PicksByWeightAmongReadyVersions) {
  v1::RouteSnapshot snapshot;
  v1::Route* route = snapshot.add_routes();
  route->set_model("chat");
  AddVersion(*route, 1, 90, "READY");
  AddVersion(*route, 2, 10, "READY");
  AddVersion(*route, 3, 100, "LOADING");
  AddVersion(*route, 4, 0, "READY");
  RouteTable table(snapshot);
  int second = 0;
  for (int user = 0; user < 10'000; ++user) {
    uint64_t sticky = StickyHash("user " + std::to_string(user));
    const VersionRoute* version = PickVersion(*table.Find("chat"), sticky);
    ASSERT_TRUE(version != nullptr && version->version <= 2);
    EXPECT_EQ(PickVersion(*table.Find("chat"), sticky), version);
    second += version->version == 2;
  }
  // 10 % of 10 000; five standard deviations (30 each) to both sides.
  EXPECT_NEAR(second, 1000, 150);
}

TEST(RouteTable, KnowsWhetherAModelServesOrWill) {
  struct Case {
    std::vector<std::string> states;
    bool serving;
    bool coming;
    std::string state;
  };
  for (const Case& c : {Case{{"READY"}, true, false, "READY"}, Case{{"FAILED", "READY"}, true, false, "READY"},
                        Case{{"LOADING"}, false, true, "LOADING"}, Case{{"FAILED", "BACKOFF"}, false, true, "BACKOFF"},
                        Case{{"CRASHED"}, false, true, "CRASHED"}, Case{{"FAILED"}, false, false, "FAILED"},
                        Case{{"DRAINING"}, false, false, "DRAINING"}, Case{{"UNLOADED"}, false, false, "UNLOADED"},
                        Case{{}, false, false, "STOPPED"}}) {
    v1::RouteSnapshot snapshot;
    v1::Route* route = snapshot.add_routes();
    route->set_model("m");
    for (const std::string& state : c.states) AddVersion(*route, 1, 100, state);
    RouteTable table(snapshot);
    EXPECT_EQ(table.Find("m")->serving(), c.serving) << c.state;
    EXPECT_EQ(table.Find("m")->coming(), c.coming) << c.state;
    EXPECT_EQ(table.Find("m")->state(), c.state);
  }
}

TEST(RouteTable, AModelThatIsLoadedAtNeedIsAvailable) {
  struct Case {
    std::string state;
    bool on_demand;
    bool available;
  };
  for (const Case& c : {Case{"READY", false, true}, Case{"UNLOADED", true, true}, Case{"LOADING", true, true},
                        Case{"LOADING", false, false}, Case{"FAILED", true, false}}) {
    v1::RouteSnapshot snapshot;
    v1::Route* route = snapshot.add_routes();
    route->set_model("m");
    route->set_on_demand(c.on_demand);
    AddVersion(*route, 1, 100, c.state);
    RouteTable table(snapshot);
    EXPECT_EQ(table.Find("m")->available(), c.available) << c.state;
    EXPECT_EQ(table.Find("m")->loadable(), c.state == "UNLOADED");
  }
}

}  // namespace
}  // namespace inferd::gateway
