#include "daemon/managed_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/testing/fake_processes.h"

namespace inferd::daemon {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class ManagedProcessTest : public testing::Test {
 protected:
  void Make(ProcessPlan plan) {
    process = std::make_unique<ManagedProcess>(fake.loop(), fake, std::move(plan), [this] { ++changes; });
  }
  void MakeReady() {
    process->Start();
    fake.SetReport(process->pid(), {.model = "chat", .progress = 1});
    fake.Health(process->pid(), true);
    fake.Run();
    ASSERT_EQ(process->state(), WorkerState::kReady);
  }
  void Exit(int wait_status) { process->OnExit(wait_status); }

  FakeProcesses fake;
  std::unique_ptr<ManagedProcess> process;
  int changes = 0;
};

TEST_F(ManagedProcessTest, GoesThroughLoadingAndVerificationToReady) {
  Make(fake.Plan("chat@1"));
  EXPECT_EQ(process->state(), WorkerState::kStopped);
  process->Start();
  EXPECT_EQ(process->state(), WorkerState::kStarting);
  EXPECT_THAT(fake.spawned, ElementsAre("chat@1"));
  fake.Health(process->pid(), false);
  EXPECT_EQ(process->state(), WorkerState::kLoading);
  fake.SetReport(process->pid(), {.model = "chat"});
  fake.Advance(Milliseconds(250));
  fake.Health(process->pid(), true);
  EXPECT_EQ(process->state(), WorkerState::kVerifying);
  fake.Run();
  EXPECT_EQ(process->state(), WorkerState::kReady);
  EXPECT_EQ(process->ready_after(), Milliseconds(250));
  EXPECT_GE(changes, 4);
}

TEST_F(ManagedProcessTest, CrashIsRestartedAfterTheBackoff) {
  Make(fake.Plan("chat@1"));
  MakeReady();
  const pid_t first = process->pid();
  Exit(KilledBy(SIGKILL));
  EXPECT_EQ(process->state(), WorkerState::kBackoff);
  EXPECT_EQ(process->pid(), -1);
  EXPECT_EQ(process->backoff_left(), Milliseconds(100));
  EXPECT_EQ(process->last_error(), "killed by signal 9 (Killed)");
  fake.Advance(Milliseconds(90));
  EXPECT_EQ(process->state(), WorkerState::kBackoff);
  fake.Advance(Milliseconds(10));
  EXPECT_EQ(process->state(), WorkerState::kStarting);
  EXPECT_NE(process->pid(), first);
  EXPECT_EQ(process->restarts(), 1u);
}

TEST_F(ManagedProcessTest, CrashLoopEndsInFailedWithTheLastError) {
  Make(fake.Plan("chat@1"));
  process->Start();
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(process->state(), WorkerState::kStarting) << i;
    Exit(ExitedWith(9));
    fake.Advance(seconds(1));
  }
  EXPECT_EQ(process->state(), WorkerState::kFailed);
  EXPECT_EQ(process->last_error(), "exited with code 9");
  EXPECT_EQ(fake.spawned.size(), 4u);
  process->Start();  // an operator may try again, with a new budget
  EXPECT_EQ(process->state(), WorkerState::kStarting);
  Exit(ExitedWith(9));
  EXPECT_EQ(process->state(), WorkerState::kBackoff);
}

TEST_F(ManagedProcessTest, RefusedModelFailsAtOnce) {
  Make(fake.Plan("chat@1"));
  process->Start();
  Exit(ExitedWith(3));
  EXPECT_EQ(process->state(), WorkerState::kFailed);
  EXPECT_THAT(process->last_error(), HasSubstr("model refused"));
  fake.Advance(seconds(60));
  EXPECT_EQ(fake.spawned.size(), 1u);
}

TEST_F(ManagedProcessTest, OneThatIsNotWhatWasAskedForFails) {
  ProcessPlan plan = fake.Plan("chat@1");
  plan.verify = [](const WorkerReport& report) { return Internal("answers as {}", report.model); };
  Make(std::move(plan));
  process->Start();
  fake.SetReport(process->pid(), {.model = "other"});
  fake.Health(process->pid(), true);
  fake.Run();
  EXPECT_EQ(process->state(), WorkerState::kCrashed);
  EXPECT_THAT(fake.signals, ElementsAre(Pair(process->pid(), SIGKILL)));
  Exit(KilledBy(SIGKILL));
  EXPECT_EQ(process->state(), WorkerState::kFailed);
  EXPECT_EQ(process->last_error(), "answers as other");
}

TEST_F(ManagedProcessTest, AnAnswerFromBeforeTheLoadDoesNotVerify) {
  ProcessPlan plan = fake.Plan("chat@1");
  plan.verify = [](const WorkerReport& report) {
    return report.fingerprint.empty() ? Internal("no fingerprint") : absl::OkStatus();
  };
  Make(std::move(plan));
  process->Start();
  fake.SetReport(process->pid(), {.model = "chat"});
  ASSERT_TRUE(process->Ask());  // answered from before the load, and on its way while health says that it serves
  fake.SetReport(process->pid(), {.model = "chat", .fingerprint = "fp"});
  fake.Health(process->pid(), true);
  fake.Run();
  EXPECT_EQ(process->state(), WorkerState::kReady);
  EXPECT_THAT(fake.signals, IsEmpty());
}

TEST_F(ManagedProcessTest, OneThatNeverServesIsKilledAtTheLoadDeadline) {
  ProcessPlan plan = fake.Plan("chat@1");
  plan.options.load_timeout = seconds(5);
  Make(std::move(plan));
  process->Start();
  fake.Health(process->pid(), false);
  fake.Advance(seconds(4));
  EXPECT_THAT(fake.signals, IsEmpty());
  fake.Advance(seconds(1));
  EXPECT_THAT(fake.signals, ElementsAre(Pair(process->pid(), SIGKILL)));
  Exit(KilledBy(SIGKILL));
  EXPECT_EQ(process->state(), WorkerState::kBackoff);
  EXPECT_EQ(process->last_error(), "not ready after 5000 ms");
}

TEST_F(ManagedProcessTest, OneThatStopsAnsweringIsKilledByTheWatchdog) {
  ProcessPlan plan = fake.Plan("chat@1");
  plan.options.watchdog = seconds(2);
  Make(std::move(plan));
  MakeReady();
  fake.Advance(seconds(10));
  EXPECT_EQ(process->state(), WorkerState::kReady);
  fake.Silence(process->pid());
  fake.Advance(seconds(3));
  EXPECT_THAT(fake.signals, ElementsAre(Pair(process->pid(), SIGKILL)));
  Exit(KilledBy(SIGKILL));
  EXPECT_EQ(process->state(), WorkerState::kBackoff);
  EXPECT_EQ(process->last_error(), "killed by the watchdog: no answer for 2000 ms");
}

TEST_F(ManagedProcessTest, NewOptionsCountForTheProcessThatRuns) {
  ProcessPlan plan = fake.Plan("chat@1");
  plan.options.watchdog = seconds(3600);
  Make(plan);
  MakeReady();
  fake.Silence(process->pid());
  fake.Advance(seconds(5));
  EXPECT_THAT(fake.signals, IsEmpty());
  plan.options.watchdog = seconds(2);
  plan.options.restart.max = 0;
  process->SetOptions(plan.options);
  fake.Advance(seconds(3));
  EXPECT_THAT(fake.signals, ElementsAre(Pair(process->pid(), SIGKILL)));
  Exit(KilledBy(SIGKILL));
  EXPECT_EQ(process->last_error(), "killed by the watchdog: no answer for 2000 ms");
  EXPECT_EQ(process->state(), WorkerState::kFailed);
}

TEST_F(ManagedProcessTest, StopDrainsAndThenKills) {
  Make(fake.Plan("chat@1"));
  MakeReady();
  process->Stop(seconds(5));
  EXPECT_EQ(process->state(), WorkerState::kDraining);
  EXPECT_THAT(fake.signals, ElementsAre(Pair(process->pid(), SIGTERM)));
  fake.Advance(seconds(6));
  EXPECT_EQ(fake.signals.size(), 1u);
  fake.Advance(seconds(2));
  EXPECT_THAT(fake.signals, ElementsAre(Pair(process->pid(), SIGTERM), Pair(process->pid(), SIGKILL)));
  Exit(KilledBy(SIGKILL));
  EXPECT_EQ(process->state(), WorkerState::kStopped);
  fake.Advance(seconds(60));
  EXPECT_EQ(fake.spawned.size(), 1u);
}

TEST_F(ManagedProcessTest, StopEndsTheWaitForARestart) {
  Make(fake.Plan("chat@1"));
  MakeReady();
  Exit(KilledBy(SIGSEGV));
  process->Stop(seconds(5));
  EXPECT_EQ(process->state(), WorkerState::kStopped);
  fake.Advance(seconds(60));
  EXPECT_EQ(fake.spawned.size(), 1u);
}

TEST_F(ManagedProcessTest, WhatCannotBeSpawnedIsTriedAgain) {
  Make(fake.Plan("chat@1"));
  fake.spawn_error = "fork: Resource temporarily unavailable";
  process->Start();
  fake.Run();
  EXPECT_EQ(process->state(), WorkerState::kBackoff);
  EXPECT_THAT(process->last_error(), HasSubstr("fork: Resource temporarily unavailable"));
  fake.spawn_error.clear();
  fake.Advance(Milliseconds(100));
  EXPECT_EQ(process->state(), WorkerState::kStarting);
  EXPECT_GT(process->pid(), 0);
}

TEST_F(ManagedProcessTest, StopRightAfterAFailedSpawnSignalsNobody) {
  Make(fake.Plan("chat@1"));
  fake.spawn_error = "fork: Resource temporarily unavailable";
  process->Start();
  process->Stop(seconds(5));
  process->Kill();
  fake.Run();
  EXPECT_EQ(process->state(), WorkerState::kStopped);
  EXPECT_THAT(fake.signals, IsEmpty());
  fake.Advance(seconds(60));
  EXPECT_EQ(process->state(), WorkerState::kStopped);
  EXPECT_THAT(fake.signals, IsEmpty());
}

TEST_F(ManagedProcessTest, OneThatWithdrawsIsNotReadyUntilItServesAgain) {
  Make(fake.Plan("chat@1"));
  MakeReady();
  fake.Health(process->pid(), false);
  EXPECT_EQ(process->state(), WorkerState::kLoading);
  fake.Health(process->pid(), true);
  fake.Run();
  EXPECT_EQ(process->state(), WorkerState::kReady);
  EXPECT_THAT(fake.signals, IsEmpty());
}

TEST(DescribeExit, TellsCausesApart) {
  struct Case {
    int status;
    bool out_of_memory;
    std::string_view cause;
    std::string text;
  };
  for (const Case& c :
       {Case{ExitedWith(0), false, "exit", "exited by itself"},
        Case{ExitedWith(1), false, "error", "exited with code 1"},
        Case{ExitedWith(2), false, "error", "exited with code 2: wrong usage or configuration"},
        Case{ExitedWith(3), false, "refused", "exited with code 3: model refused"},
        Case{ExitedWith(127), false, "not_started", "exited with code 127: the program cannot be executed"},
        Case{KilledBy(SIGSEGV), false, "signal", "killed by signal 11 (Segmentation fault)"},
        Case{KilledBy(SIGKILL), false, "signal", "killed by signal 9 (Killed)"},
        Case{KilledBy(SIGKILL), true, "out_of_memory", "killed by the kernel: out of memory"},
        Case{KilledBy(SIGSEGV), true, "signal", "killed by signal 11 (Segmentation fault)"}}) {
    const ExitMeaning meaning = DescribeExit(c.status, c.out_of_memory);
    EXPECT_EQ(NameOf(meaning.cause), c.cause);
    EXPECT_EQ(meaning.text, c.text);
  }
  EXPECT_EQ(NameOf(DescribeExit(ExitedWith(4), false).cause), "memory_limit");
}

TEST(ExitCauses, AreCountedAndAKillForMemoryIsTold) {
  FakeProcesses fake;
  uint64_t kills = 5;
  ProcessPlan plan = fake.Plan("a");
  plan.out_of_memory_kills = [&kills] { return kills; };
  plan.options.restart.max = 10;
  ManagedProcess process(fake.loop(), fake, std::move(plan), [] {});
  process.Start();
  const auto die = [&](int status) {
    process.OnExit(status);
    fake.Advance(Milliseconds(1100));
  };
  die(KilledBy(SIGKILL));
  EXPECT_EQ(NameOf(process.last_exit()), "signal");
  ++kills;
  die(KilledBy(SIGKILL));
  EXPECT_EQ(NameOf(process.last_exit()), "out_of_memory");
  // A kill of another process long before is not taken for the cause.
  ++kills;
  fake.Advance(Milliseconds(3000));
  die(KilledBy(SIGKILL));
  EXPECT_EQ(NameOf(process.last_exit()), "signal");
  EXPECT_EQ(process.exits(), (std::map<ExitCause, uint32_t>{{ExitCause::kSignal, 2}, {ExitCause::kOutOfMemory, 1}}));
}

}  // namespace
}  // namespace inferd::daemon
