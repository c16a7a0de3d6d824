// Each row of the table of process faults that the supervisor answers for, on real processes with scripted children.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include "config/base/address.h"
#include "config/base/status.h"
#include "daemon/testing/test_daemon.h"

namespace inferd::daemon {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;

constexpr char kQuickRestarts[] =
    "supervisor: {restart: {first_delay: 10ms, max_delay: 20ms, max: 3}, watchdog: 1s, drain: 1s}";

auto IsIn(const std::string& model, const std::string& state) {
  return [=](const v1::StatusResponse& status) { return WorkerOf(status, model).state() == state; };
}

// What the gateway is told of a model's newest version, from a new WatchRoutes call.
v1::RouteVersion RouteOf(const TestDaemon& daemon, const std::string& model) {
  grpc::ClientContext context;
  const auto stream = daemon.admin().WatchRoutes(&context);
  EXPECT_TRUE(stream->Write({}));
  v1::RouteSnapshot snapshot;
  EXPECT_TRUE(stream->Read(&snapshot));
  context.TryCancel();
  for (const v1::Route& route : snapshot.routes()) {
    if (route.model() == model && route.versions_size() > 0) return route.versions(route.versions_size() - 1);
  }
  return {};
}

TEST(ProcessFaults, KilledWorkerIsStartedAgainAndOthersGoOn) {
  TestDaemon daemon({{"a", ""}, {"b", ""}}, kQuickRestarts);
  daemon.Start();
  const v1::StatusResponse before = daemon.WaitUntilReady();
  kill(WorkerOf(before, "a").pid(), SIGKILL);
  const auto after = daemon.WaitFor("the restart", [&](const v1::StatusResponse& status) {
    return WorkerOf(status, "a").state() == "READY" && WorkerOf(status, "a").pid() != WorkerOf(before, "a").pid();
  });
  EXPECT_EQ(WorkerOf(after, "a").restarts(), 1u);
  EXPECT_EQ(WorkerOf(after, "a").version(), 1u);
  EXPECT_EQ(WorkerOf(after, "a").last_error(), "killed by signal 9 (Killed)");
  EXPECT_EQ(WorkerOf(after, "b").pid(), WorkerOf(before, "b").pid());
  EXPECT_EQ(after.gateway().pid(), before.gateway().pid());
}

TEST(ProcessFaults, StoppedWorkerIsKilledByTheWatchdogAndStartedAgain) {
  TestDaemon daemon({{"a", ""}}, kQuickRestarts);
  daemon.Start();
  const pid_t before = WorkerOf(daemon.WaitUntilReady(), "a").pid();
  kill(before, SIGSTOP);
  const auto after = daemon.WaitFor("the restart", [&](const v1::StatusResponse& status) {
    return WorkerOf(status, "a").state() == "READY" && WorkerOf(status, "a").pid() != before;
  });
  EXPECT_THAT(WorkerOf(after, "a").last_error(), HasSubstr("watchdog: no answer"));
  EXPECT_FALSE(IsAlive(before));
}

TEST(ProcessFaults, AReloadChangesTheWatchdogOfAWorkerThatRuns) {
  TestDaemon daemon({{"a", ""}}, "supervisor: {watchdog: 1h}");
  daemon.Start();
  const pid_t before = WorkerOf(daemon.WaitUntilReady(), "a").pid();
  daemon.WriteConfig(kQuickRestarts);
  ASSERT_TRUE(daemon.Reload().ok());
  kill(before, SIGSTOP);
  daemon.WaitFor("the restart", [&](const v1::StatusResponse& status) {
    return WorkerOf(status, "a").state() == "READY" && WorkerOf(status, "a").pid() != before;
  });
}

TEST(ProcessFaults, WorkerWithWorkAndNoProgressIsKilledByTheWatchdog) {
  TestDaemon daemon({{"a", "wedge 1"}}, kQuickRestarts);
  daemon.Start();
  const auto status =
      daemon.WaitFor("the watchdog", [](const v1::StatusResponse& s) { return WorkerOf(s, "a").restarts() > 0; });
  EXPECT_THAT(WorkerOf(status, "a").last_error(), HasSubstr("no progress for 1000 ms with requests waiting"));
}

TEST(ProcessFaults, CrashLoopEndsInFailed) {
  TestDaemon daemon({{"a", "crash_ms 1"}, {"b", ""}}, kQuickRestarts);
  daemon.Start();
  const auto status = daemon.WaitFor("FAILED", IsIn("a", "FAILED"));
  EXPECT_EQ(WorkerOf(status, "a").restarts(), 3u);
  EXPECT_EQ(WorkerOf(status, "a").last_error(), "exited with code 9");
  EXPECT_EQ(RouteOf(daemon, "a").state(), "FAILED");
  daemon.WaitFor("the other model", IsIn("b", "READY"));
}

TEST(ProcessFaults, RefusedModelFailsWithItsReasonAndOthersServe) {
  TestDaemon daemon({{"bad", "refuse tensor blk.0: beyond the end of the file"}, {"good", ""}}, kQuickRestarts);
  daemon.Start();
  const auto status = daemon.WaitUntilReady();
  EXPECT_EQ(WorkerOf(status, "good").state(), "READY");
  EXPECT_EQ(WorkerOf(status, "bad").state(), "FAILED");
  EXPECT_EQ(WorkerOf(status, "bad").restarts(), 0u);
  EXPECT_EQ(RouteOf(daemon, "bad").last_error(), "tensor blk.0: beyond the end of the file");
}

TEST(ProcessFaults, SwapToABadFileLeavesTheOldVersion) {
  TestDaemon daemon({{"a", ""}}, kQuickRestarts);
  daemon.Start();
  const auto before = WorkerOf(daemon.WaitUntilReady(), "a");
  daemon.WriteFile("refused", "refuse it is corrupt\n");
  daemon.WriteFile("crashes", "load_ms 20\ncrash_ms 1\nfingerprint x\ntokenizer other\n");
  EXPECT_THAT(std::string(MessageOf(daemon.Swap("a", daemon.Path("refused")))), HasSubstr("it is corrupt"));
  EXPECT_THAT(std::string(MessageOf(daemon.Swap("a", daemon.Path("missing")))), HasSubstr("No such file"));
  EXPECT_THAT(std::string(MessageOf(daemon.Swap("a", daemon.Path("crashes")))),
              AnyOf(HasSubstr("tokenizer differs"), HasSubstr("exited with code 9")));
  EXPECT_THAT(std::string(MessageOf(daemon.Swap("nobody"))), HasSubstr("no model \"nobody\""));
  const v1::RouteVersion route = RouteOf(daemon, "a");
  EXPECT_EQ(route.version(), before.version());
  EXPECT_EQ(route.state(), "READY");
  EXPECT_TRUE(IsAlive(before.pid()));
}

TEST(ProcessFaults, SwapServesTheNewVersionAndEndsTheOld) {
  TestDaemon daemon({{"a", "fingerprint one"}}, kQuickRestarts);
  daemon.Start();
  const pid_t old = WorkerOf(daemon.WaitUntilReady(), "a").pid();
  daemon.WriteFile("next", "fingerprint two\n");
  ASSERT_TRUE(daemon.Swap("a", daemon.Path("next")).ok());
  EXPECT_EQ(RouteOf(daemon, "a").version(), 2u);
  EXPECT_EQ(RouteOf(daemon, "a").fingerprint(), "two");
  EXPECT_TRUE(WaitUntil([&] { return !IsAlive(old); }));
  daemon.WaitFor("one worker", [](const v1::StatusResponse& status) { return status.workers_size() == 1; });
  EXPECT_NE(access(daemon.Path("run/w/a-1.sock").c_str(), F_OK), 0);
  EXPECT_EQ(access(daemon.Path("run/w/a-2.sock").c_str(), F_OK), 0);
}

TEST(ProcessFaults, BadConfigurationAtReloadLeavesTheOldAndNamesLineAndKey) {
  TestDaemon daemon({{"a", ""}}, kQuickRestarts);
  daemon.Start();
  const auto before = daemon.WaitUntilReady();
  daemon.WriteFile("inferd.yaml", "log: {level: info}\nlimits:\n  body: much\n");
  EXPECT_THAT(std::string(MessageOf(daemon.Reload())), HasSubstr("inferd.yaml:3: limits.body: \"much\""));
  daemon.Signal(SIGHUP);
  const auto after =
      daemon.WaitFor("two failed reloads", [](const v1::StatusResponse& s) { return s.reloads_failed() == 2; });
  EXPECT_THAT(after.last_reload(), HasSubstr("limits.body"));
  EXPECT_EQ(after.route_revision(), before.route_revision());
  EXPECT_EQ(WorkerOf(after, "a").pid(), WorkerOf(before, "a").pid());
}

TEST(ProcessFaults, ConcurrentReloadsAreDoneOneAfterAnother) {
  TestDaemon daemon({{"a", "fingerprint 0"}}, kQuickRestarts);
  daemon.Start();
  daemon.WaitUntilReady();
  std::vector<std::thread> threads;
  for (int i = 1; i <= 4; ++i) {
    daemon.WriteScript("a", "load_ms 20\nfingerprint " + std::to_string(i));
    threads.emplace_back([&daemon] { EXPECT_TRUE(daemon.Reload().ok()); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(RouteOf(daemon, "a").fingerprint(), "4");
  EXPECT_EQ(RouteOf(daemon, "a").state(), "READY");
}

TEST(ProcessFaults, ChildrenEndWithinTwoSecondsOfAKilledSupervisor) {
  TestDaemon daemon({{"a", "stubborn 1"}, {"b", "load_ms 60000"}}, "");
  daemon.Start();
  const auto status = daemon.WaitFor("b LOADING", IsIn("b", "LOADING"));
  std::vector<pid_t> children = {status.gateway().pid()};
  for (const auto& worker : status.workers()) children.push_back(worker.pid());
  ASSERT_EQ(children.size(), 3u);
  daemon.Signal(SIGKILL);
  EXPECT_EQ(daemon.Wait(), -1);
  for (const pid_t child : children) {
    EXPECT_TRUE(WaitUntil([&] { return !IsAlive(child); }, /*seconds=*/2)) << child;
  }
  // What it left does not hinder the next one.
  daemon.Start();
  daemon.WaitFor("b LOADING again", IsIn("b", "LOADING"));
}

TEST(ProcessFaults, SigtermEndsEverythingAfterADrain) {
  TestDaemon daemon({{"a", ""}}, kQuickRestarts);
  daemon.Start();
  const auto status = daemon.WaitUntilReady();
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.Wait(), 0);
  EXPECT_FALSE(IsAlive(WorkerOf(status, "a").pid()));
  EXPECT_FALSE(IsAlive(status.gateway().pid()));
  EXPECT_NE(access(daemon.Path("run/admin.sock").c_str(), F_OK), 0);
}

TEST(ProcessFaults, AnOpenStreamOfRoutesDoesNotHoldTheEndUp) {
  TestDaemon daemon({{"a", ""}}, kQuickRestarts);
  daemon.Start();
  daemon.WaitUntilReady();
  grpc::ClientContext context;
  const auto stream = daemon.admin().WatchRoutes(&context);
  EXPECT_TRUE(stream->Write({}));
  v1::RouteSnapshot snapshot;
  ASSERT_TRUE(stream->Read(&snapshot));
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.Wait(), 0);
  while (stream->Read(&snapshot)) continue;
  EXPECT_FALSE(stream->Finish().ok());
}

TEST(ProcessFaults, SecondSigtermEndsAtOnce) {
  TestDaemon daemon({{"a", "stubborn 1"}}, "supervisor: {drain: 1h}");
  daemon.Start();
  const auto status = daemon.WaitUntilReady();
  daemon.Signal(SIGTERM);
  daemon.WaitFor("the drain", IsIn("a", "DRAINING"));
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.Wait(), 0);
  EXPECT_FALSE(IsAlive(WorkerOf(status, "a").pid()));
}

TEST(ProcessFaults, PortInUseIsAClearErrorBeforeReadiness) {
  const absl::StatusOr<UniqueFd> holder = Listen(*ParseAddress("127.0.0.1:0"));
  ASSERT_TRUE(holder.ok());
  const std::string address = BoundAddress(holder->get()).ToString();
  TestDaemon daemon({{"a", ""}}, "");
  daemon.WriteFile("inferd.yaml",
                   "listen: {http: \"" + address + "\"}\nrun_directory: " + daemon.Path("run") + "\nmodels: []");
  daemon.Start();
  EXPECT_EQ(daemon.Wait(), 1);
  EXPECT_THAT(daemon.log(), HasSubstr(address + ": address in use"));
  EXPECT_THAT(daemon.Notifications(), testing::Not(Contains(HasSubstr("READY=1"))));
}

TEST(ProcessFaults, SecondDaemonInTheSameDirectoryIsRefused) {
  TestDaemon daemon({{"a", ""}}, "");
  daemon.Start();
  const auto status = daemon.WaitUntilReady();
  TestDaemon second({}, "");
  second.WriteFile("inferd.yaml", "listen: {http: 127.0.0.1:0, grpc: 127.0.0.1:0}\nrun_directory: " +
                                      daemon.Path("run") + "\nmodels: []");
  second.Start();
  EXPECT_EQ(second.Wait(), 1);
  EXPECT_THAT(second.log(), HasSubstr("held by another inferd"));
  EXPECT_EQ(WorkerOf(daemon.WaitUntilReady(), "a").pid(), WorkerOf(status, "a").pid());
}

TEST(ProcessFaults, ServiceManagerHearsEachStep) {
  TestDaemon daemon({{"a", ""}}, kQuickRestarts);
  daemon.Start();
  daemon.WaitUntilReady();
  EXPECT_THAT(daemon.NextNotification("READY=1"), HasSubstr("1 of 1 model versions ready"));
  ASSERT_TRUE(daemon.Reload().ok());
  EXPECT_THAT(daemon.NextNotification("RELOADING=1"), HasSubstr("MONOTONIC_USEC="));
  daemon.NextNotification("READY=1");
  daemon.Signal(SIGTERM);
  daemon.NextNotification("STOPPING=1");
  EXPECT_EQ(daemon.Wait(), 0);
}

TEST(ProcessFaults, BlockedLogPipeHoldsNothingUp) {
  int pipe_ends[2];
  ASSERT_EQ(pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK), 0);
  const UniqueFd reader(pipe_ends[0]), writer(pipe_ends[1]);
  const std::string page(4096, 'x');
  while (write(writer.get(), page.data(), page.size()) > 0) continue;
  ASSERT_EQ(fcntl(writer.get(), F_SETFL, 0), 0);
  TestDaemon daemon({{"a", ""}}, kQuickRestarts);
  daemon.Start(writer.get());
  const auto before = WorkerOf(daemon.WaitUntilReady(), "a");
  kill(before.pid(), SIGKILL);
  daemon.WaitFor("the restart", [&](const v1::StatusResponse& status) {
    return WorkerOf(status, "a").state() == "READY" && WorkerOf(status, "a").pid() != before.pid();
  });
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.Wait(), 0);
}

}  // namespace
}  // namespace inferd::daemon
