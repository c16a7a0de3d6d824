#include "config/sandbox/privileges.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "config/sandbox/testing_child.h"

namespace inferd::sandbox {
namespace {

// A line of /proc/self/status: "CapEff" gives the number that it has in hexadecimal.
uint64_t Field(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoull(line.substr(name.size() + 1), nullptr, 16);
  }
  return UINT64_MAX;
}

TEST(Privileges, HideMemory) {
  EXPECT_EQ(InChild([] {
              if (!HideMemory().ok()) return 1;
              rlimit core{1, 1};
              if (getrlimit(RLIMIT_CORE, &core) != 0 || core.rlim_max != 0) return 2;
              return prctl(PR_GET_DUMPABLE) == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 3;
            }),
            0);
}

TEST(Privileges, DropAllCapabilities) {
  EXPECT_EQ(InChild([] {
              if (!DropCapabilities({}).ok()) return 1;
              for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) {
                if (Field(set) != 0) return 2;
              }
              return geteuid() != 0 || Field("CapBnd") == 0 ? 0 : 3;
            }),
            0);
}

TEST(Privileges, KeepOneCapabilityThatIsThere) {
  const uint64_t before = Field("CapPrm");
  EXPECT_EQ(InChild([&] {
              if (!DropCapabilities({CAP_DAC_READ_SEARCH}).ok()) return 1;
              const uint64_t kept = uint64_t{1} << CAP_DAC_READ_SEARCH;
              return Field("CapEff") == (before & kept) && Field("CapPrm") == (before & kept) ? 0 : 2;
            }),
            0);
}

}  // namespace
}  // namespace inferd::sandbox
