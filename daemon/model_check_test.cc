#include "daemon/model_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <string>

#include "config/base/child_process.h"
#include "config/base/status.h"
#include "config/load.h"

namespace inferd::daemon {
namespace {

using testing::HasSubstr;

// Its child runs a function in place of a program.
class FunctionSpawner : public Spawner {
 public:
  explicit FunctionSpawner(std::function<void(int report)> child) : child_(std::move(child)) {}
  absl::StatusOr<Spawned> Spawn(const ProcessSpec& asked) override {
    spec = asked;
    int ends[2];
    if (pipe(ends) != 0) return FromErrno(errno, "pipe");
    const pid_t pid = fork();
    if (pid == 0) {
      child_(ends[1]);
      _exit(0);
    }
    close(ends[1]);
    return Spawned{.pid = pid, .report = UniqueFd(ends[0])};
  }
  void Signal(pid_t, int) override {}
  void Terminate(pid_t, Milliseconds) override {}

  ProcessSpec spec;

 private:
  const std::function<void(int)> child_;
};

absl::Status Check(FunctionSpawner& spawner, uint64_t kills = 0) {
  const config::Config config =
      config::ParseConfig("models: [{name: m, path: /m.gguf, memory_limit: 2GiB}]", "/etc/inferd.yaml").value();
  uint64_t asked = 0;
  return CheckByWorker(spawner, "/bin", config, config.models[0], /*user=*/7,
                       [&]() -> uint64_t { return asked++ == 0 ? 0 : kills; });
}

std::string MessageAfter(std::function<void(int report)> child, uint64_t kills = 0) {
  FunctionSpawner spawner(std::move(child));
  return std::string(MessageOf(Check(spawner, kills)));
}

TEST(ModelCheck, TellsWhatTheWorkerReports) {
  const auto refuse = [](int report) { _exit(write(report, "\nbad tensor\n", 12) == 12 ? kExitRefused : 0); };
  EXPECT_EQ(MessageAfter(refuse), "bad tensor");
  FunctionSpawner names([](int report) { _exit(write(report, "cpus\nbad: 9\n", 12) == 12 ? kExitRefused : 0); });
  EXPECT_EQ(Check(names), InvalidField("cpus", "bad: 9"));
  EXPECT_EQ(MessageAfter([](int) {}), "");
}

TEST(ModelCheck, NeverEndsWithoutAMessage) {
  EXPECT_THAT(MessageAfter([](int) { raise(SIGKILL); }, /*kills=*/1), HasSubstr("killed by the kernel: out of memory"));
  EXPECT_THAT(MessageAfter([](int) { raise(SIGKILL); }), HasSubstr("killed by signal 9"));
  EXPECT_THAT(MessageAfter([](int) { _exit(kExitOutOfMemory); }), HasSubstr("memory_limit"));
  EXPECT_THAT(MessageAfter([](int) { _exit(1); }), HasSubstr("exited with code 1"));
}

TEST(ModelCheck, RunsTheWorkerWithinItsBounds) {
  FunctionSpawner content([](int) {});
  ASSERT_TRUE(Check(content).ok());
  EXPECT_EQ(content.spec.memory_limit_bytes, uint64_t{2} << 30);
  EXPECT_GT(content.spec.oom_score, 0);
  EXPECT_THAT(content.spec.arguments, testing::IsSupersetOf({"--check", "--user", "7"}));
}

}  // namespace
}  // namespace inferd::daemon
