// Over folders of plain files, which take what a kernel would.
#include "daemon/control_groups.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "config/base/status.h"
#include "daemon/spawner.h"
#include "daemon/testing/fake_kernel.h"

namespace inferd::daemon {
namespace {

namespace fs = std::filesystem;

class ControlGroupsTest : public testing::Test, protected FakeKernel {
 protected:
  ControlGroupsTest() {
    Write("proc/self/cgroup", "1:name=systemd:/\n0::/inferd.service\n");
    Write("proc/meminfo", "MemAvailable: 8000 kB\n");
  }
  std::string Read(const std::string& name) const {
    std::ifstream stream(folder + "/cgroup/inferd.service/" + name);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void Delegate() const { Write("cgroup/inferd.service/cgroup.controllers", "cpu memory pids\n"); }
};

TEST_F(ControlGroupsTest, MovesTheSupervisorAsideAndBoundsAWorker) {
  Delegate();
  const auto groups = ControlGroups::Create(folders);
  ASSERT_TRUE(groups.ok()) << groups.status();
  EXPECT_EQ(Read("supervisor/cgroup.procs"), std::to_string(getpid()));
  EXPECT_EQ(Read("cgroup.subtree_control"), "+memory");
  const auto procs = (*groups)->Open("worker-chat-1", 5'000'000);
  ASSERT_TRUE(procs.ok()) << procs.status();
  EXPECT_EQ(Read("worker-chat-1/memory.max"), "5000000");
  ASSERT_EQ(write(procs->get(), "0", 1), 1);
  EXPECT_EQ(Read("worker-chat-1/cgroup.procs"), "0");
}

TEST_F(ControlGroupsTest, NothingIsDoneWhereMemoryIsNotDelegated) {
  EXPECT_EQ(ControlGroups::Create(folders).status().code(), absl::StatusCode::kFailedPrecondition);
  Write("cgroup/inferd.service/cgroup.controllers", "cpu pids\n");
  EXPECT_EQ(ControlGroups::Create(folders).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(fs::exists(folder + "/cgroup/inferd.service/supervisor"));
  Write("proc/self/cgroup", "4:memory:/one\n");  // version 1
  EXPECT_EQ(ControlGroups::Create(folders).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ControlGroupsTest, AGroupThatIsNotOursToChangeIsLeftAsItWas) {
  Delegate();
  fs::create_directories(folder + "/cgroup/inferd.service/cgroup.subtree_control");  // cannot be written
  EXPECT_FALSE(ControlGroups::Create(folders).ok());
  EXPECT_EQ(Read("cgroup.procs"), std::to_string(getpid()));
}

TEST_F(ControlGroupsTest, GroupsWithoutProcessesGoWithTheNext) {
  Delegate();
  const auto groups = ControlGroups::Create(folders);
  ASSERT_TRUE(groups.ok());
  ASSERT_TRUE((*groups)->Open("one", 1).ok());
  ASSERT_TRUE((*groups)->Open("two", 1).ok());
  EXPECT_TRUE(fs::exists(folder + "/cgroup/inferd.service/one")) << "it has processes: files, here";
  fs::remove(folder + "/cgroup/inferd.service/one/cgroup.procs");
  fs::remove(folder + "/cgroup/inferd.service/one/memory.max");
  ASSERT_TRUE((*groups)->Open("two", 2).ok());
  EXPECT_FALSE(fs::exists(folder + "/cgroup/inferd.service/one"));
}

TEST_F(ControlGroupsTest, KillsOfWorkersAreCountedFromTheSupervisorsOwnGroup) {
  Write("proc/self/cgroup", "0::/inferd.service/supervisor\n");
  Write("cgroup/inferd.service/supervisor/memory.events", "oom_kill 0\n");
  Write("cgroup/inferd.service/memory.events", "oom_kill 3\n");
  EXPECT_EQ(OutOfMemoryKillsBy(folders), 3u);
}

TEST_F(ControlGroupsTest, AProcessJoinsItsGroupBeforeItRuns) {
  Delegate();
  auto groups = ControlGroups::Create(folders);
  ASSERT_TRUE(groups.ok());
  const auto spawner = SystemSpawner::Create(std::move(*groups));
  ASSERT_TRUE(spawner.ok());
  const auto child = (*spawner)->Spawn(
      {.program = "/bin/true", .memory_limit_bytes = 64 << 20, .mapped_bytes = 1000, .group = "worker-chat-1"});
  ASSERT_TRUE(child.ok()) << child.status();
  int status = 0;
  ASSERT_EQ(waitpid(child->pid, &status, 0), child->pid);
  EXPECT_EQ(status, 0);
  // What it maps of files counts, too, but is not what the limit is about.
  EXPECT_EQ(Read("worker-chat-1/memory.max"), std::to_string((64 << 20) + 1000));
  EXPECT_EQ(Read("worker-chat-1/cgroup.procs"), "0");
}

}  // namespace
}  // namespace inferd::daemon
