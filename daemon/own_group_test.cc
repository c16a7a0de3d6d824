#include "daemon/own_group.h"

#include <gtest/gtest.h>

#include "daemon/testing/fake_kernel.h"

namespace inferd::daemon {
namespace {

TEST(OwnGroup, IsThatOfEachVersion) {
  const struct {
    const char* content;
    std::optional<std::string> unified, memory;
  } cases[] = {
      {"0::/system.slice/inferd.service\n", "/system.slice/inferd.service", std::nullopt},
      {"0::/\n", "/", std::nullopt},
      {"12:cpu,cpuacct:/a\n5:memory:/b\n0::/c\n", "/c", "/b"},
      {"7:hugetlb,memory:/joined\n", std::nullopt, "/joined"},
      {"0::/with:memory:in it\n", "/with:memory:in it", std::nullopt},
      {"1:name=systemd:/x\nno line of this kind\n:\n", std::nullopt, std::nullopt},
      {"", std::nullopt, std::nullopt},
  };
  for (const auto& c : cases) {
    FakeKernel kernel;
    kernel.Write("proc/self/cgroup", c.content);
    const OwnGroup group = FindOwnGroup(kernel.folders.proc);
    EXPECT_EQ(group.unified, c.unified) << c.content;
    EXPECT_EQ(group.memory, c.memory) << c.content;
  }
  EXPECT_FALSE(FindOwnGroup("/nowhere").unified.has_value());
}

}  // namespace
}  // namespace inferd::daemon
