#include "daemon/gateway_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/testing/fake_processes.h"
#include "inferd/v1/admin.pb.h"

namespace inferd::daemon {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class GatewayKeeperTest : public testing::Test {
 protected:
  GatewayKeeperTest() {
    keeper.Start();
    GetReady(first);
    EXPECT_EQ(Pid(), first);
  }
  void GetReady(pid_t pid) {
    fake.SetReport(pid, {});
    fake.Health(pid, true);
    fake.Run();
  }
  pid_t Pid() const {
    v1::GatewayStatus status;
    keeper.FillStatus(status);
    return status.pid();
  }
  void Replace() {
    keeper.Replace(seconds(1), [this](absl::Status status) { results.push_back(std::move(status)); });
    fake.Run();
  }

  FakeProcesses fake;
  GatewayKeeper keeper{fake.loop(), fake, [this] { return fake.Plan("gateway"); }, [] {}};
  const pid_t first = 100'000'000;  // as FakeProcesses counts
  const pid_t second = first + 1;
  std::vector<absl::Status> results;
};

TEST_F(GatewayKeeperTest, StopsTheOldOneWhenTheNewOneIsReady) {
  Replace();
  EXPECT_THAT(fake.signals, IsEmpty());
  EXPECT_EQ(Pid(), first);
  GetReady(second);
  EXPECT_EQ(Pid(), second);
  EXPECT_THAT(fake.signals, ElementsAre(Pair(first, SIGTERM)));
  ASSERT_EQ(results.size(), 1u);
  EXPECT_TRUE(results[0].ok()) << results[0];
}

TEST_F(GatewayKeeperTest, KeepsTheOldOneIfTheNewOneFails) {
  Replace();
  ASSERT_TRUE(keeper.OnExit(second, ExitedWith(2)));
  fake.Run();
  EXPECT_EQ(Pid(), first);
  EXPECT_EQ(keeper.state(), WorkerState::kReady);
  EXPECT_THAT(fake.signals, IsEmpty());
  ASSERT_EQ(results.size(), 1u);
  EXPECT_THAT(std::string(MessageOf(results[0])), HasSubstr("configuration"));
  fake.Advance(seconds(60));
  EXPECT_EQ(fake.spawned.size(), 2u);
}

TEST_F(GatewayKeeperTest, StartsANewOneThatCrashesAgainWhileTheOldServes) {
  Replace();
  ASSERT_TRUE(keeper.OnExit(second, KilledBy(SIGKILL)));
  fake.Run();
  EXPECT_EQ(Pid(), first);
  EXPECT_THAT(results, IsEmpty());
  fake.Advance(seconds(1));
  GetReady(second + 1);
  EXPECT_EQ(Pid(), second + 1);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_TRUE(results[0].ok()) << results[0];
}

TEST_F(GatewayKeeperTest, GivesANewOneUpThatCrashesAgainAndAgain) {
  Replace();
  for (pid_t pid = second; pid < second + 3; ++pid) {
    EXPECT_THAT(results, IsEmpty());
    ASSERT_TRUE(keeper.OnExit(pid, KilledBy(SIGSEGV)));
    fake.Advance(seconds(2));
  }
  ASSERT_EQ(results.size(), 1u);
  EXPECT_THAT(std::string(MessageOf(results[0])), HasSubstr("signal 11"));
  EXPECT_EQ(Pid(), first);
  EXPECT_EQ(fake.spawned.size(), 4u);
}

TEST_F(GatewayKeeperTest, ReplacesOneThatFailed) {
  keeper.OnExit(first, ExitedWith(2));
  fake.Run();
  ASSERT_EQ(keeper.state(), WorkerState::kFailed);
  Replace();
  GetReady(second);
  EXPECT_EQ(keeper.state(), WorkerState::kReady);
  EXPECT_EQ(Pid(), second);
}

TEST_F(GatewayKeeperTest, StopEndsAReplacementToo) {
  Replace();
  keeper.StopAll(seconds(1));
  EXPECT_THAT(fake.signals, testing::UnorderedElementsAre(Pair(first, SIGUSR2), Pair(first, SIGTERM),
                                                          Pair(second, SIGUSR2), Pair(second, SIGTERM)));
  ASSERT_EQ(results.size(), 1u);
  EXPECT_FALSE(results[0].ok());
  EXPECT_TRUE(keeper.OnExit(first, ExitedWith(0)));
  EXPECT_TRUE(keeper.OnExit(second, ExitedWith(0)));
  fake.Run();
  EXPECT_FALSE(keeper.AnyProcess());
}

}  // namespace
}  // namespace inferd::daemon
