// Fleet and rollout together: what is routed while versions come and go.
#include "daemon/rollout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/testing/fake_processes.h"
#include "inferd/v1/admin.pb.h"

namespace inferd::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

config::ModelOptions ModelNamed(const std::string& name, const std::string& path = "/m/a.gguf") {
  config::ModelOptions options;
  options.name = name;
  options.path = path;
  return options;
}

class RolloutTest : public testing::Test {
 protected:
  RolloutTest()
      : fleet(
            fake.loop(), fake,
            [this](const config::ModelOptions& model, uint64_t version) {
              return fake.Plan(model.name + "@" + std::to_string(version));
            },
            [this] {
              snapshots.push_back(Routed());
              fake.loop().Post([this] {
                if (rollout != nullptr) rollout->Check();
              });
            }) {}

  // "chat@1:100 READY", ...
  std::vector<std::string> Routed() const {
    std::vector<std::string> out;
    const v1::RouteSnapshot snapshot = fleet.Routes();
    for (const auto& route : snapshot.routes()) {
      for (const auto& version : route.versions()) {
        out.push_back(fmt::format("{}@{}:{} {}", route.model(), version.version(), version.weight(), version.state()));
      }
    }
    return out;
  }

  ModelVersion& Serve(const std::string& name) {
    const auto options = ModelNamed(name);
    ModelVersion& version = fleet.AddVersion(fleet.AddModel(options), options, {});
    fleet.Route(version, 100);
    version.process->Start();
    BecomeReady(version);
    return version;
  }

  void BecomeReady(ModelVersion& version, const std::string& fingerprint = "fp", const std::string& tokenizer = "tk") {
    const pid_t pid = version.process->pid();
    fake.SetReport(pid, {.model = version.model->options.name,
                         .version = version.number,
                         .fingerprint = fingerprint,
                         .tokenizer_fingerprint = tokenizer});
    fake.Health(pid, true);
    fake.Run();
  }

  ModelVersion& Version(const std::string& name, uint64_t number) { return *fleet.Find(name)->Find(number); }

  void Begin(RolloutRequest request) {
    rollout =
        std::make_unique<Rollout>(fleet, std::move(request), [this](const absl::Status& status) { result = status; });
    snapshots.clear();
    rollout->Begin();
    fake.Run();
  }

  void ExitAll(int signal) {
    for (const auto& [pid, sent] : std::exchange(fake.signals, {})) {
      if (sent == signal) fleet.OnExit(pid, ExitedWith(0));
    }
    fake.Run();
  }

  FakeProcesses fake;
  std::vector<std::vector<std::string>> snapshots;
  std::unique_ptr<Rollout> rollout;
  std::optional<absl::Status> result;
  Fleet fleet;
};

TEST_F(RolloutTest, SwapIsOneChangeOfTheRoutes) {
  Serve("chat");
  Begin({.starts = {{.options = ModelNamed("chat", "/m/b.gguf")}}});
  EXPECT_THAT(Routed(), ElementsAre("chat@1:100 READY"));
  EXPECT_FALSE(result.has_value());
  BecomeReady(Version("chat", 2), "other");
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->ok()) << *result;
  EXPECT_THAT(Routed(), ElementsAre("chat@2:100 READY"));
  // No snapshot in between shows none or both.
  for (const auto& snapshot : snapshots) {
    EXPECT_EQ(snapshot.size(), 1u);
    EXPECT_THAT(snapshot.front(), HasSubstr(":100 READY"));
  }
  EXPECT_EQ(fleet.Find("chat")->options.path, "/m/b.gguf");
}

TEST_F(RolloutTest, OldVersionDrainsAfterTheSwitchAndIsForgotten) {
  const pid_t old = Serve("chat").process->pid();
  Begin({.starts = {{.options = ModelNamed("chat")}}, .drain = Milliseconds(7000)});
  BecomeReady(Version("chat", 2));
  EXPECT_THAT(fake.signals, IsEmpty());  // the gateway first learns of the new table
  fake.Advance(Milliseconds(300));
  EXPECT_THAT(fake.signals, ElementsAre(testing::Pair(old, SIGTERM)));
  EXPECT_EQ(fake.last_drain, Milliseconds(7000));
  ExitAll(SIGTERM);
  EXPECT_EQ(fleet.Find("chat")->versions.size(), 1u);
}

TEST_F(RolloutTest, TheVersionOfADrainedModelEndsToo) {
  ModelVersion& old = Serve("chat");
  old.model->drained = true;
  fleet.Unroute(old);
  Begin({.starts = {{.options = ModelNamed("chat")}}, .drain = Milliseconds(7000)});
  BecomeReady(Version("chat", 2));
  EXPECT_THAT(Routed(), ElementsAre("chat@2:100 READY"));
  EXPECT_FALSE(fleet.Find("chat")->drained);
  fake.Advance(Milliseconds(300));
  ExitAll(SIGTERM);
  EXPECT_EQ(fleet.Find("chat")->versions.size(), 1u);
}

TEST_F(RolloutTest, RefusedFileLeavesTheOldVersion) {
  Serve("chat");
  Begin({.starts = {{.options = ModelNamed("chat", "/m/bad.gguf")}}});
  fleet.OnExit(Version("chat", 2).process->pid(), ExitedWith(3));
  fake.Run();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Routed(), ElementsAre("chat@1:100 READY"));
  EXPECT_EQ(fleet.Find("chat")->options.path, "/m/a.gguf");
  fake.Advance(Milliseconds(100));
  EXPECT_EQ(fleet.Find("chat")->versions.size(), 1u);
}

TEST_F(RolloutTest, CrashWhileLoadingLeavesTheOldVersionAndEndsTheNew) {
  Serve("chat");
  Begin({.starts = {{.options = ModelNamed("chat")}}});
  fleet.OnExit(Version("chat", 2).process->pid(), KilledBy(SIGSEGV));
  fake.Run();
  ASSERT_TRUE(result.has_value());
  EXPECT_THAT(std::string(MessageOf(*result)), HasSubstr("signal 11"));
  fake.Advance(Milliseconds(2000));
  EXPECT_EQ(fake.spawned, (std::vector<std::string>{"chat@1", "chat@2 quietly"}));
  EXPECT_THAT(Routed(), ElementsAre("chat@1:100 READY"));
}

TEST_F(RolloutTest, AnotherTokenizerIsRefusedUnlessAllowed) {
  Serve("chat");
  Begin({.starts = {{.options = ModelNamed("chat")}}});
  BecomeReady(Version("chat", 2), "fp2", "another");
  ASSERT_TRUE(result.has_value());
  EXPECT_THAT(std::string(MessageOf(*result)), HasSubstr("tokenizer differs"));
  EXPECT_THAT(Routed(), ElementsAre("chat@1:100 READY"));

  result.reset();
  Begin({.starts = {{.options = ModelNamed("chat"), .allow_tokenizer_change = true}}});
  BecomeReady(Version("chat", 3), "fp2", "another");
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->ok()) << *result;
  EXPECT_THAT(Routed(), ElementsAre("chat@3:100 READY"));
}

TEST_F(RolloutTest, SeveralModelsSwitchTogetherOrNotAtAll) {
  Serve("a");
  Serve("b");
  Begin({.starts = {{.options = ModelNamed("a")}, {.options = ModelNamed("b")}, {.options = ModelNamed("c")}}});
  BecomeReady(Version("a", 2));
  BecomeReady(Version("c", 1));
  EXPECT_THAT(Routed(), ElementsAre("a@1:100 READY", "b@1:100 READY"));
  fleet.OnExit(Version("b", 2).process->pid(), ExitedWith(3));
  fake.Run();
  ASSERT_TRUE(result.has_value());
  EXPECT_FALSE(result->ok());
  ExitAll(SIGTERM);
  fake.Advance(Milliseconds(300));
  ExitAll(SIGTERM);
  EXPECT_THAT(Routed(), ElementsAre("a@1:100 READY", "b@1:100 READY"));
  EXPECT_EQ(fleet.Find("c"), nullptr);
  EXPECT_EQ(fleet.Find("a")->versions.size(), 1u);
}

TEST_F(RolloutTest, RemovedModelLeavesTheRoutesWithTheSameChange) {
  Serve("a");
  Serve("b");
  Begin({.starts = {{.options = ModelNamed("c")}}, .removes = {"b"}});
  BecomeReady(Version("c", 1));
  EXPECT_THAT(Routed(), ElementsAre("a@1:100 READY", "c@1:100 READY"));
  for (const auto& snapshot : snapshots) EXPECT_THAT(snapshot, testing::SizeIs(2));
  fake.Advance(Milliseconds(300));
  ExitAll(SIGTERM);
  EXPECT_EQ(fleet.Find("b"), nullptr);
}

TEST_F(RolloutTest, StartsQuietlyBesideOthersThatServeAndOnceAlone) {
  Begin({.starts = {{.options = ModelNamed("chat")}}});
  BecomeReady(Version("chat", 1));
  Begin({.starts = {{.options = ModelNamed("chat")}}});
  BecomeReady(Version("chat", 2));
  // A restart has requests waiting for it.
  fleet.OnExit(Version("chat", 2).process->pid(), KilledBy(SIGKILL));
  fake.Advance(Milliseconds(100));
  EXPECT_THAT(fake.spawned, ElementsAre("chat@1", "chat@2 quietly", "chat@2"));
}

TEST_F(RolloutTest, OneBesideGetsNoTraffic) {
  Serve("chat");
  Begin({.starts = {{.options = ModelNamed("chat", "/m/b.gguf"), .beside = true}}});
  BecomeReady(Version("chat", 2));
  EXPECT_THAT(Routed(), ElementsAre("chat@1:100 READY", "chat@2:0 READY"));
  EXPECT_EQ(fleet.Find("chat")->options.path, "/m/a.gguf");
}

TEST_F(RolloutTest, RestartedWorkerMustHaveTheSameFingerprint) {
  ModelVersion& version = Serve("chat");
  fleet.OnExit(version.process->pid(), KilledBy(SIGKILL));
  fake.Advance(Milliseconds(100));
  BecomeReady(version, "changed");
  EXPECT_EQ(version.process->state(), WorkerState::kCrashed);
  fleet.OnExit(version.process->pid(), KilledBy(SIGKILL));
  EXPECT_EQ(version.process->state(), WorkerState::kFailed);
  EXPECT_THAT(version.process->last_error(), HasSubstr("the file changed while version 1 was in use"));
}

TEST_F(RolloutTest, VersionNumbersAreNotUsedTwice) {
  ModelVersion& version = Serve("chat");
  fleet.Retire(version, Milliseconds(0), Milliseconds(0));
  fake.Advance(Milliseconds(10));
  ExitAll(SIGTERM);
  ASSERT_EQ(fleet.Find("chat"), nullptr);
  EXPECT_EQ(fleet.AddVersion(fleet.AddModel(ModelNamed("chat")), ModelNamed("chat"), {}).number, 2u);
}

}  // namespace
}  // namespace inferd::daemon
