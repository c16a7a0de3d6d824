#include "config/sandbox/landlock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "config/sandbox/testing_child.h"

namespace inferd::sandbox {
namespace {

int KernelVersion() { return static_cast<int>(syscall(SYS_landlock_create_ruleset, nullptr, 0, 1)); }

class LandlockTest : public testing::Test {
 protected:
  void SetUp() override {
    if (KernelVersion() < 1) GTEST_SKIP() << "this kernel has no Landlock";
    std::string path = testing::TempDir() + "landlockXXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    directory = path;
    for (const char* name : {"allowed", "other", "sockets"}) {
      std::filesystem::create_directory(Path(name));
      std::ofstream(Path(name) + "/file") << "text";
    }
  }
  void TearDown() override {
    if (!directory.empty()) std::filesystem::remove_all(directory);
  }
  std::string Path(const std::string& name) const { return directory + "/" + name; }
  Reach Allowed() const {
    return {
        .files = {Path("other/file")}, .directories = {Path("allowed"), Path("absent")}, .sockets = {Path("sockets")}};
  }

  std::string directory;
};

bool Opens(const std::string& path, int flags) { return open(path.c_str(), flags | O_CLOEXEC, 0600) >= 0; }

int Bind(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX};
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return bind(socket(AF_UNIX, SOCK_STREAM, 0), reinterpret_cast<sockaddr*>(&address), sizeof address);
}

TEST_F(LandlockTest, TellsTheVersionInForce) {
  EXPECT_EQ(InChild([&] {
              const auto abi = LimitReach(Allowed());
              return abi.ok() && *abi == KernelVersion() ? 0 : 1;
            }),
            0);
}

TEST_F(LandlockTest, LeavesTheFilesNamedToRead) {
  const int failed = InChild([&] {
    if (!LimitReach(Allowed()).ok()) return 1;
    if (!Opens(Path("allowed/file"), O_RDONLY) || !Opens(Path("other/file"), O_RDONLY)) return 2;
    if (!Opens("/proc/self/status", O_RDONLY)) return 3;
    for (const char* path : {"allowed/file", "other/file", "sockets/file"}) {
      if (Opens(Path(path), O_WRONLY)) return 4;
      if (KernelVersion() >= 3 && truncate(Path(path).c_str(), 0) == 0) return 5;
    }
    for (const char* path : {"allowed/new", "other/new", "sockets/new"}) {
      if (Opens(Path(path), O_CREAT | O_WRONLY)) return 6;
    }
    if (Opens(Path("other"), O_RDONLY | O_DIRECTORY) || Opens("/etc/passwd", O_RDONLY)) return 7;
    return 0;
  });
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(std::filesystem::file_size(Path("allowed/file")), 4u);
}

TEST_F(LandlockTest, LeavesTheFoldersOfSockets) {
  const int failed = InChild([&] {
    if (!LimitReach(Allowed()).ok()) return 1;
    if (Bind(Path("sockets/s")) != 0 || unlink(Path("sockets/s").c_str()) != 0) return 2;
    if (Bind(Path("allowed/s")) == 0 || Bind(Path("other/s")) == 0) return 3;
    return 0;
  });
  EXPECT_EQ(failed, 0);
}

// From a listener on a port of its own choice: whether a limited process connects, and whether it binds another.
TEST_F(LandlockTest, BoundsTcpWhereTheKernelCan) {
  if (KernelVersion() < 4) GTEST_SKIP() << "this kernel's Landlock knows no TCP";
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  const auto raw = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(listener, raw, size), 0);
  ASSERT_EQ(listen(listener, 4), 0);
  ASSERT_EQ(getsockname(listener, raw, &size), 0);
  const auto attempt = [&](bool may_listen, bool may_connect) {
    return InChild([&] {
      if (!LimitReach({.tcp_listen = may_listen, .tcp_connect = may_connect}).ok()) return 99;
      const bool connects = connect(socket(AF_INET, SOCK_STREAM, 0), raw, sizeof address) == 0;
      address.sin_port = 0;
      const bool binds = bind(socket(AF_INET, SOCK_STREAM, 0), raw, sizeof address) == 0;
      return (connects ? 1 : 0) + (binds ? 2 : 0);
    });
  };
  EXPECT_EQ(attempt(false, false), 0);
  EXPECT_EQ(attempt(false, true), 1);
  EXPECT_EQ(attempt(true, false), 2);
  close(listener);
}

TEST_F(LandlockTest, KeepsSignalsAndAbstractSocketsWithinWhereTheKernelCan) {
  if (KernelVersion() < 6) GTEST_SKIP() << "this kernel's Landlock knows no signals";
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "inferd-landlock-test-%d", getpid());
  const auto raw = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(listener, raw, sizeof address), 0);
  ASSERT_EQ(listen(listener, 4), 0);
  const pid_t parent = getpid();
  const int failed = InChild([&] {
    if (kill(parent, 0) != 0) return 1;
    if (connect(socket(AF_UNIX, SOCK_STREAM, 0), raw, sizeof address) != 0) return 2;
    if (!LimitReach({}).ok()) return 3;
    if (kill(parent, 0) == 0 || errno != EPERM) return 4;
    if (connect(socket(AF_UNIX, SOCK_STREAM, 0), raw, sizeof address) == 0) return 5;
    return kill(getpid(), 0) == 0 ? 0 : 6;
  });
  EXPECT_EQ(failed, 0);
  close(listener);
}

}  // namespace
}  // namespace inferd::sandbox
