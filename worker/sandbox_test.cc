#include "worker/sandbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

namespace inferd::worker {
namespace {

// Runs `body` in a process of its own and returns its exit code; 100: it was killed.
int InChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

bool Refused(long result) { return result == -1 && errno == EPERM; }

TEST(Sandbox, NoFileSocketProgramProcessOrCodeAfterTheLimit) {
  const int failed = InChild([] {
    if (!LimitSystemCalls().ok()) return 1;
    if (!Refused(open("/etc/passwd", O_RDONLY))) return 2;
    if (!Refused(open("/tmp/inferd-sandbox-test", O_CREAT | O_WRONLY, 0600))) return 3;
    if (!Refused(socket(AF_INET, SOCK_STREAM, 0))) return 4;
    if (!Refused(execl("/bin/true", "true", nullptr))) return 5;
    if (!Refused(fork())) return 6;
    if (mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) return 7;
    if (!Refused(kill(getppid(), 0))) return 8;
    if (!Refused(syscall(SYS_ptrace, 0, 0, 0, 0))) return 9;
    return 0;
  });
  EXPECT_EQ(failed, 0);
}

TEST(Sandbox, ThreadsMemoryAndOpenFilesWorkAfterTheLimit) {
  const int failed = InChild([] {
    int ends[2];
    if (pipe(ends) != 0 || !LimitSystemCalls().ok()) return 1;
    std::vector<char> memory(64 << 20, 'x');
    std::thread writer([&] { memory[0] = write(ends[1], &memory[1], 1) == 1 ? 'y' : 'n'; });
    writer.join();
    int policy;
    sched_param parameters;  // which absl::Mutex asks for
    if (pthread_getschedparam(pthread_self(), &policy, &parameters) != 0) return 3;
    char byte = 0;
    return memory[0] == 'y' && read(ends[0], &byte, 1) == 1 && byte == 'x' ? 0 : 2;
  });
  EXPECT_EQ(failed, 0);
}

TEST(Sandbox, OnlyTheFilesNamedCanBeRead) {
  if (syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) < 1) {
    GTEST_SKIP() << "this kernel has no Landlock";
  }
  std::string directory = testing::TempDir() + "sandboxXXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const std::string allowed = directory + "/allowed", other = directory + "/other";
  for (const std::string& path : {allowed, other}) {
    std::filesystem::create_directory(path);
    std::ofstream(path + "/file") << "text";
  }
  const int failed = InChild([&] {
    if (!LimitFiles({.readable = {allowed, directory + "/absent"}}).ok()) return 1;
    if (open((allowed + "/file").c_str(), O_RDONLY) < 0) return 2;
    if (open((allowed + "/file").c_str(), O_WRONLY) >= 0) return 3;
    if (open((other + "/file").c_str(), O_RDONLY) >= 0) return 4;
    if (open((allowed + "/new").c_str(), O_CREAT | O_WRONLY, 0600) >= 0) return 5;
    return 0;
  });
  EXPECT_EQ(failed, 0);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace inferd::worker
