#include "daemon/on_demand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/testing/fake_processes.h"
#include "inferd/v1/admin.pb.h"

namespace inferd::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Each model takes about 1 GiB: of its file, beside the smallest pool.
constexpr uint64_t kGiB = uint64_t{1} << 30;

class OnDemandTest : public testing::Test {
 protected:
  ModelVersion& Add(config::ModelOptions options) {
    options.kv_cache.bytes = 1 << 20;
    ModelVersion& version = fleet.AddVersion(fleet.AddModel(options), options, {.size_bytes = kGiB});
    fleet.Route(version, 100);
    return version;
  }
  // All processes that were started become ready.
  void GetReady() {
    for (const auto& [name, model] : fleet.models()) {
      for (const auto& version : model->versions) {
        if (version->process->pid() > 0 && !version->ready()) Report(*version, /*requests=*/0);
        if (version->process->pid() > 0) fake.Health(version->process->pid(), true);
      }
    }
    fake.Run();
  }
  void Report(const ModelVersion& version, uint32_t requests) {
    fake.SetReport(version.process->pid(), {.model = version.model->options.name,
                                            .version = version.number,
                                            .fingerprint = "fp",
                                            .tokenizer_fingerprint = "tk",
                                            .requests = requests});
  }
  // The process ends as it was told to.
  void End(const ModelVersion& version) {
    ASSERT_THAT(fake.signals, testing::Contains(testing::Pair(version.process->pid(), SIGTERM)));
    ASSERT_TRUE(fleet.OnExit(version.process->pid(), ExitedWith(0)));
    fake.Run();
  }
  static std::string StateOf(const ModelVersion& version) {
    v1::WorkerStatus status;
    Fleet::FillStatus(version, status);
    return status.state();
  }
  absl::Status Want(const std::string& name) {
    absl::Status status = on_demand.Want(name);
    fake.Run();
    return status;
  }

  FakeProcesses fake;
  config::SupervisorOptions options;
  uint64_t available = 100 * kGiB;
  Fleet fleet{fake.loop(), fake,
              [this](const config::ModelOptions& model, uint64_t version) {
                ProcessPlan plan = fake.Plan(model.name + "@" + std::to_string(version));
                plan.watch_progress = true;
                return plan;
              },
              [this] { fake.loop().Post([this] { on_demand.Check(); }); }};
  OnDemand on_demand{fake.loop(), fleet, options, [this] { return available; }};
};

TEST_F(OnDemandTest, LoadsAtTheFirstRequestWhatIsNotToBePreloaded) {
  ModelVersion& now = Add({.name = "now"});
  ModelVersion& later = Add({.name = "later", .aliases = {"alias"}, .preload = false});
  on_demand.StartAll();
  EXPECT_THAT(fake.spawned, ElementsAre("now@1"));
  EXPECT_EQ(StateOf(now), "STARTING");
  EXPECT_EQ(StateOf(later), "UNLOADED");
  EXPECT_TRUE(fleet.Routes().routes(0).on_demand());
  EXPECT_FALSE(fleet.Routes().routes(1).on_demand());
  EXPECT_TRUE(Want("alias").ok());
  EXPECT_TRUE(Want("later").ok());
  EXPECT_THAT(fake.spawned, ElementsAre("now@1", "later@1"));
  GetReady();
  EXPECT_EQ(StateOf(later), "READY");
  EXPECT_TRUE(absl::IsNotFound(Want("nobody")));
}

TEST_F(OnDemandTest, UnloadsWhatIsIdleAndLoadsItAgain) {
  ModelVersion& idle = Add({.name = "idle", .idle_unload = seconds(10)});
  ModelVersion& busy = Add({.name = "busy", .idle_unload = seconds(10)});
  ModelVersion& pinned = Add({.name = "pinned", .idle_unload = seconds(10), .pinned = true});
  ModelVersion& always = Add({.name = "always"});
  on_demand.StartAll();
  GetReady();
  Report(busy, 1);
  fake.Advance(seconds(8));
  EXPECT_EQ(StateOf(idle), "READY");
  fake.Advance(seconds(4));
  EXPECT_EQ(StateOf(idle), "UNLOADED");
  for (const ModelVersion* version : {&busy, &pinned, &always}) EXPECT_EQ(StateOf(*version), "READY");
  End(idle);
  EXPECT_EQ(idle.process->pid(), -1);
  EXPECT_EQ(StateOf(idle), "UNLOADED");
  EXPECT_THAT(fleet.Summary(), "3 of 4 model versions ready, 1 unloaded");
  EXPECT_TRUE(Want("idle").ok());
  GetReady();
  EXPECT_EQ(StateOf(idle), "READY");
  EXPECT_EQ(idle.number, 1u);
}

TEST_F(OnDemandTest, ARequestInTheLastMomentKeepsTheProcess) {
  ModelVersion& version = Add({.name = "a", .idle_unload = seconds(2)});
  on_demand.StartAll();
  GetReady();
  while (StateOf(version) == "READY") fake.Advance(milliseconds(10));
  // The worker is not told yet.
  EXPECT_THAT(fake.signals, IsEmpty());
  EXPECT_TRUE(Want("a").ok());
  EXPECT_EQ(StateOf(version), "READY");
  fake.Advance(seconds(1));
  EXPECT_THAT(fake.signals, IsEmpty());
  EXPECT_EQ(fake.spawned.size(), 1u);
}

TEST_F(OnDemandTest, ARequestWhileTheProcessEndsStartsANewOneAfterIt) {
  ModelVersion& version = Add({.name = "a", .idle_unload = seconds(2)});
  on_demand.StartAll();
  GetReady();
  while (version.process->state() == WorkerState::kReady) fake.Advance(milliseconds(10));
  EXPECT_TRUE(Want("a").ok());
  EXPECT_EQ(StateOf(version), "STARTING");
  EXPECT_EQ(fake.spawned.size(), 1u);
  End(version);
  EXPECT_EQ(fake.spawned.size(), 2u);
  GetReady();
  EXPECT_EQ(StateOf(version), "READY");
}

TEST_F(OnDemandTest, TheBudgetIsForPinnedModelsFirst) {
  options.memory_budget = 5 * kGiB / 2;
  Add({.name = "a"});
  Add({.name = "b"});
  Add({.name = "c", .pinned = true});
  on_demand.StartAll();
  EXPECT_THAT(fake.spawned, ElementsAre("c@1", "a@1"));
  EXPECT_EQ(StateOf(*fleet.Find("b")->Find(1)), "UNLOADED");
  EXPECT_LE(on_demand.planned_bytes(), options.memory_budget);
}

TEST_F(OnDemandTest, TheLeastRecentlyUsedMakesRoom) {
  options.memory_budget = 5 * kGiB / 2;
  ModelVersion& a = Add({.name = "a"});
  ModelVersion& b = Add({.name = "b"});
  ModelVersion& c = Add({.name = "c", .preload = false});
  on_demand.StartAll();
  GetReady();
  Report(a, 1);
  fake.Advance(seconds(3));
  Report(a, 0);
  fake.Advance(seconds(2));
  EXPECT_TRUE(Want("c").ok());
  EXPECT_EQ(StateOf(a), "READY");
  EXPECT_EQ(StateOf(b), "UNLOADED");
  EXPECT_EQ(StateOf(c), "UNLOADED");
  fake.Advance(seconds(1));
  EXPECT_EQ(fake.spawned.size(), 2u);  // b still has its memory
  End(b);
  EXPECT_THAT(fake.spawned, ElementsAre("a@1", "b@1", "c@1"));
  GetReady();
  EXPECT_EQ(StateOf(c), "READY");
  EXPECT_LE(on_demand.planned_bytes(), options.memory_budget);
}

// Its worker lives on without requests: it is not about to end by itself.
TEST_F(OnDemandTest, ADrainedModelMakesRoomBeforeOthers) {
  options.memory_budget = 5 * kGiB / 2;
  ModelVersion& a = Add({.name = "a"});
  ModelVersion& b = Add({.name = "b"});
  ModelVersion& c = Add({.name = "c", .preload = false});
  on_demand.StartAll();
  GetReady();
  Report(b, 1);
  fake.Advance(seconds(3));
  Report(b, 0);
  fake.Advance(seconds(1));
  Report(a, 1);
  fake.Advance(seconds(1));
  Report(a, 0);
  fake.Advance(seconds(1));
  b.model->drained = true;
  fleet.Unroute(b);
  EXPECT_TRUE(Want("c").ok());
  fake.Advance(seconds(1));
  EXPECT_EQ(StateOf(a), "READY");
  End(b);
  EXPECT_THAT(fake.spawned, ElementsAre("a@1", "b@1", "c@1"));
  GetReady();
  EXPECT_EQ(StateOf(c), "READY");
  // It can be put back into service.
  EXPECT_EQ(StateOf(b), "UNLOADED");
  EXPECT_EQ(fleet.Find("b")->Find(1), &b);
  EXPECT_THAT(fleet.Routes().routes(1).versions(), IsEmpty());
}

TEST_F(OnDemandTest, APinnedDrainedModelLeavesTheOthersToMakeRoom) {
  options.memory_budget = 5 * kGiB / 2;
  ModelVersion& a = Add({.name = "a"});
  ModelVersion& b = Add({.name = "b", .pinned = true});
  Add({.name = "c", .preload = false});
  on_demand.StartAll();
  GetReady();
  b.model->drained = true;
  fleet.Unroute(b);
  EXPECT_TRUE(Want("c").ok());
  fake.Advance(seconds(1));
  End(a);
  EXPECT_EQ(fake.spawned.back(), "c@1");
  EXPECT_EQ(StateOf(b), "READY");
}

TEST_F(OnDemandTest, ABusyModelMakesRoomOnlyAfterAWhile) {
  options.memory_budget = 3 * kGiB / 2;
  ModelVersion& a = Add({.name = "a"});
  Add({.name = "b", .preload = false});
  on_demand.StartAll();
  GetReady();
  Report(a, 3);
  fake.Advance(seconds(2));
  EXPECT_TRUE(Want("b").ok());
  fake.Advance(seconds(4));
  EXPECT_EQ(StateOf(a), "READY");
  EXPECT_TRUE(Want("b").ok());
  fake.Advance(seconds(2));
  EXPECT_EQ(StateOf(a), "UNLOADED");
  fake.Advance(seconds(1));
  End(a);
  EXPECT_EQ(fake.spawned.back(), "b@1");
}

TEST_F(OnDemandTest, AWishThatNobodyRepeatsIsForgotten) {
  options.memory_budget = 3 * kGiB / 2;
  ModelVersion& a = Add({.name = "a", .pinned = false});
  Add({.name = "b", .preload = false});
  on_demand.StartAll();
  GetReady();
  available = 0;  // no room for b, nor any made by unloading
  EXPECT_TRUE(Want("b").ok());
  fake.Advance(seconds(1));
  End(a);
  fake.Advance(seconds(20));
  available = 100 * kGiB;
  fake.Advance(seconds(5));
  EXPECT_THAT(fake.spawned, ElementsAre("a@1"));
  EXPECT_TRUE(Want("b").ok());
  EXPECT_THAT(fake.spawned, ElementsAre("a@1", "b@1"));
}

TEST_F(OnDemandTest, RefusesWhatCanNeverFit) {
  options.memory_budget = 3 * kGiB / 2;
  Add({.name = "a", .pinned = true});
  Add({.name = "b", .preload = false});
  on_demand.StartAll();
  const absl::Status status = Want("b");
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(MessageOf(status)), HasSubstr("memory_budget, 1536 MiB"));
}

TEST_F(OnDemandTest, StartsNothingWhenTheDaemonEnds) {
  ModelVersion& version = Add({.name = "a", .idle_unload = seconds(1)});
  on_demand.StartAll();
  GetReady();
  fake.Advance(seconds(3));
  EXPECT_TRUE(Want("a").ok());
  on_demand.Stop();
  fleet.StopAll(seconds(1));
  End(version);
  EXPECT_EQ(fake.spawned.size(), 1u);
}

}  // namespace
}  // namespace inferd::daemon
