#include "config/sandbox/user.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "config/sandbox/privileges.h"
#include "config/sandbox/testing_child.h"

namespace inferd::sandbox {
namespace {

constexpr uid_t kUser = 60999;
constexpr gid_t kGroup = 60998;

class UserTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root becomes somebody else";
  }
};

TEST_F(UserTest, IsAnotherForGood) {
  ASSERT_TRUE(CanBecome(kUser).ok());
  EXPECT_EQ(geteuid(), 0u);
  EXPECT_EQ(InChild([] {
              if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return 1;
              if (!BecomeUser(kUser, {kGroup}).ok()) return 2;
              int death_signal = 0;
              if (prctl(PR_GET_PDEATHSIG, &death_signal) != 0 || death_signal != SIGKILL) return 3;
              if (!DropCapabilities({CAP_DAC_READ_SEARCH}).ok()) return 4;
              gid_t groups[2];
              if (getuid() != kUser || getgid() != kUser || getgroups(2, groups) != 1 || groups[0] != kGroup) return 5;
              return setresuid(0, 0, 0) == 0 || setgroups(0, nullptr) == 0 ? 6 : 0;
            }),
            0);
}

TEST_F(UserTest, CannotBeAnybodyWithoutTheCapability) {
  EXPECT_EQ(InChild([] {
              if (!DropCapabilities({}).ok()) return 1;
              return absl::IsPermissionDenied(CanBecome(kUser)) ? 0 : 2;
            }),
            0);
}

TEST_F(UserTest, ReadsWhatTheKeptCapabilityGives) {
  const std::string folder = testing::TempDir() + "/user-test";
  std::filesystem::create_directories(folder);
  chmod(folder.c_str(), 0700);
  const std::string file = folder + "/file";
  std::ofstream(file) << "x";
  const auto read_as_user = [&](std::initializer_list<int> kept) {
    return InChild([&] {
      if (!BecomeUser(kUser, {}).ok() || !DropCapabilities(kept).ok()) return 2;
      return open(file.c_str(), O_RDONLY) >= 0 ? 0 : 1;
    });
  };
  EXPECT_EQ(read_as_user({CAP_DAC_READ_SEARCH}), 0);
  EXPECT_EQ(read_as_user({}), 1);
  EXPECT_EQ(FirstUnreadable(kUser, {"/etc/passwd", "", folder + "/file", folder}), file);
  EXPECT_EQ(FirstUnreadable(kUser, {"/etc/passwd", folder}), folder);
  EXPECT_EQ(FirstUnreadable(kUser, {"/etc/passwd", "/etc", "/none/at/all"}), "");
  EXPECT_EQ(access(file.c_str(), W_OK), 0);  // the caller is who it was
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace inferd::sandbox
