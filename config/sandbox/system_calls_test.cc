// Each call that a captured process would want is tried in each stage.
#include "config/sandbox/system_calls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <initializer_list>
#include <span>
#include <thread>
#include <vector>

#include "config/sandbox/testing_child.h"

namespace inferd::sandbox {
namespace {

// What an attempt finds, opened before the limits.
struct Scene {
  pid_t parent = getpid();
  int tcp = socket(AF_INET, SOCK_STREAM, 0);
  int pipe_end = -1;
  Scene() {
    int ends[2];
    pipe_end = pipe(ends) == 0 ? ends[0] : -1;
  }
};

struct Attempt {
  const char* name;
  long (*call)(const Scene&);  // -1 with errno, as system calls do
};

const char* const kElsewhere = "/tmp/inferd-sandbox-test";
cpu_set_t OneProcessor() {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  return set;
}

// Of anybody: refused in every stage.
const Attempt kNever[] = {
    {"ptrace", [](const Scene& s) { return syscall(SYS_ptrace, 16, s.parent, 0, 0); }},
    {"process_vm_readv", [](const Scene& s) { return syscall(SYS_process_vm_readv, s.parent, 0, 0, 0, 0, 0); }},
    {"process_vm_writev", [](const Scene& s) { return syscall(SYS_process_vm_writev, s.parent, 0, 0, 0, 0, 0); }},
    {"pidfd_getfd", [](const Scene&) { return syscall(SYS_pidfd_getfd, -1, 0, 0); }},
    {"io_uring", [](const Scene&) { return syscall(SYS_io_uring_setup, 1, nullptr); }},
    {"userfaultfd", [](const Scene&) { return syscall(SYS_userfaultfd, 0); }},
    {"bpf", [](const Scene&) { return syscall(SYS_bpf, 0, nullptr, 0); }},
    {"perf_event_open", [](const Scene&) { return syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0); }},
    {"mount", [](const Scene&) { return syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, nullptr); }},
    {"unshare", [](const Scene&) { return syscall(SYS_unshare, CLONE_NEWUSER); }},
    {"setns", [](const Scene& s) { return syscall(SYS_setns, s.pipe_end, 0); }},
    {"chroot", [](const Scene&) { return syscall(SYS_chroot, "/tmp"); }},
    {"init_module", [](const Scene&) { return syscall(SYS_init_module, nullptr, 0, ""); }},
    {"keyctl", [](const Scene&) { return syscall(SYS_keyctl, 0, 0, 0, 0, 0); }},
    {"clock_settime", [](const Scene&) { return syscall(SYS_clock_settime, CLOCK_REALTIME, nullptr); }},
    {"a new user namespace", [](const Scene&) { return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0); }},
};

// Of children that serve.
const Attempt kNeverOfChildren[] = {
    {"a program", [](const Scene&) { return syscall(SYS_execve, "/bin/true", nullptr, nullptr); }},
    {"a process", [](const Scene&) { return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }},
    {"a file to write", [](const Scene&) -> long { return open(kElsewhere, O_CREAT | O_WRONLY, 0600); }},
    {"a file to append to", [](const Scene&) -> long { return open("/dev/null", O_WRONLY | O_APPEND); }},
    {"truncate", [](const Scene&) -> long { return truncate(kElsewhere, 0); }},
    {"ftruncate", [](const Scene& s) -> long { return ftruncate(s.pipe_end, 0); }},
    {"chmod", [](const Scene&) -> long { return chmod(kElsewhere, 0777); }},
    {"chown", [](const Scene&) -> long { return chown(kElsewhere, 0, 0); }},
    {"rename", [](const Scene&) -> long { return rename(kElsewhere, "/tmp/inferd-sandbox-test.2"); }},
    {"link", [](const Scene&) -> long { return symlink(kElsewhere, "/tmp/inferd-sandbox-test.3"); }},
    {"kill", [](const Scene& s) -> long { return kill(s.parent, 0); }},
    {"tgkill of another process", [](const Scene& s) { return syscall(SYS_tgkill, s.parent, s.parent, 0); }},
    {"tkill", [](const Scene& s) { return syscall(SYS_tkill, s.parent, 0); }},
    {"sigqueue", [](const Scene& s) -> long { return sigqueue(s.parent, SIGWINCH, {}); }},
    {"pidfd_open", [](const Scene& s) { return syscall(SYS_pidfd_open, s.parent, 0); }},
    {"limits of another process",
     [](const Scene& s) -> long {
       rlimit limit;
       return prlimit(s.parent, RLIMIT_NOFILE, nullptr, &limit);
     }},
    {"a limit of its own",
     [](const Scene&) -> long {
       const rlimit limit{1, 1};
       return setrlimit(RLIMIT_CORE, &limit);
     }},
    {"processors of another process",
     [](const Scene& s) -> long {
       const cpu_set_t set = OneProcessor();
       return sched_setaffinity(s.parent, sizeof set, &set);
     }},
    {"niceness of another process", [](const Scene& s) -> long { return setpriority(PRIO_PROCESS, s.parent, 19); }},
    {"niceness of a user", [](const Scene&) -> long { return setpriority(PRIO_USER, 0, 19); }},
    {"F_SETOWN", [](const Scene& s) -> long { return fcntl(s.pipe_end, F_SETOWN, s.parent); }},
    {"F_SETOWN_EX", [](const Scene& s) -> long { return fcntl(s.pipe_end, F_SETOWN_EX, nullptr); }},
    {"F_SETSIG", [](const Scene& s) -> long { return fcntl(s.pipe_end, F_SETSIG, SIGKILL); }},
    {"F_NOTIFY", [](const Scene& s) -> long { return fcntl(s.pipe_end, F_NOTIFY, 0); }},
    {"FIOSETOWN", [](const Scene& s) -> long { return ioctl(s.tcp, 0x8901, &s.parent); }},
    {"memory that is code",
     [](const Scene&) -> long {
       return mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0;
     }},
    {"memory to write and run",
     [](const Scene&) -> long {
       const int all = PROT_READ | PROT_WRITE | PROT_EXEC;
       return mmap(nullptr, 4096, all, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0;
     }},
    {"memory that becomes code",
     [](const Scene&) -> long {
       void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
       return mprotect(page, 4096, PROT_READ | PROT_EXEC);
     }},
    {"a datagram socket", [](const Scene&) -> long { return socket(AF_UNIX, SOCK_DGRAM, 0); }},
    {"an UDP socket", [](const Scene&) -> long { return socket(AF_INET, SOCK_DGRAM, 0); }},
    {"a raw socket", [](const Scene&) -> long { return socket(AF_INET, SOCK_RAW, 1); }},
    {"a packet socket", [](const Scene&) -> long { return socket(AF_PACKET, SOCK_DGRAM, 0); }},
    {"a netlink socket", [](const Scene&) -> long { return socket(AF_NETLINK, SOCK_RAW, 0); }},
    {"memfd_create", [](const Scene&) -> long { return memfd_create("x", 0); }},
    {"user", [](const Scene&) -> long { return setuid(getuid()); }},
    {"capabilities", [](const Scene&) { return syscall(SYS_capset, nullptr, nullptr); }},
    {"dumpable", [](const Scene&) { return syscall(SYS_prctl, 4, 1, 0, 0, 0); }},
};

const Attempt kNeverOfWorkers[] = {
    {"data with an address",
     [](const Scene& s) -> long {
       sockaddr address{.sa_family = AF_UNSPEC, .sa_data = {}};
       return sendto(s.tcp, "x", 1, MSG_FASTOPEN, &address, sizeof address);
     }},
    {"connect",
     [](const Scene& s) -> long {
       sockaddr address{.sa_family = AF_UNSPEC, .sa_data = {}};
       return connect(s.tcp, &address, sizeof address);
     }},
    {"a TCP socket", [](const Scene&) -> long { return socket(AF_INET, SOCK_STREAM, 0); }},
    {"a socket pair",
     [](const Scene&) -> long {
       int ends[2];
       return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
     }},
};

const Attempt kNeverWhileLoading[] = {
    {"a unix socket", [](const Scene&) -> long { return socket(AF_UNIX, SOCK_STREAM, 0); }},
    {"bind", [](const Scene& s) -> long { return bind(s.tcp, nullptr, 0); }},
    {"listen", [](const Scene& s) -> long { return listen(s.tcp, 1); }},
    {"unlink", [](const Scene&) -> long { return unlink(kElsewhere); }},
};

const Attempt kNeverWhileServing[] = {
    {"a file to read", [](const Scene&) -> long { return open("/proc/self/status", O_RDONLY); }},
    {"a look at a file",
     [](const Scene&) -> long {
       struct stat status;
       return stat("/etc/passwd", &status);
     }},
    {"its own niceness", [](const Scene&) -> long { return setpriority(PRIO_PROCESS, 0, 1); }},
    {"another filter", [](const Scene&) { return syscall(SYS_seccomp, 1, 0, nullptr); }},
};

// Fails the test for each attempt that does not end with EPERM after the stages.
void ExpectRefused(std::initializer_list<Stage> stages, std::span<const Attempt> attempts) {
  const Scene scene;
  for (const Attempt& attempt : attempts) {
    const int exit_code = InChild([&] {
      for (const Stage stage : stages) {
        if (!LimitSystemCalls(stage).ok()) return 1;
      }
      errno = 0;
      if (attempt.call(scene) != -1) return 2;
      return errno == EPERM ? 0 : 3;
    });
    EXPECT_EQ(exit_code, 0) << attempt.name << ": 1 no filter, 2 allowed, 3 another error, 100 killed";
  }
}

TEST(SystemCalls, OfTheSupervisorAndItsChildren) { ExpectRefused({Stage::kSupervisor}, kNever); }

TEST(SystemCalls, OfTheGateway) {
  ExpectRefused({Stage::kGateway}, kNever);
  ExpectRefused({Stage::kGateway}, kNeverOfChildren);
}

TEST(SystemCalls, OfAWorkerThatLoads) {
  for (const auto attempts :
       {std::span<const Attempt>(kNever), std::span<const Attempt>(kNeverOfChildren),
        std::span<const Attempt>(kNeverOfWorkers), std::span<const Attempt>(kNeverWhileLoading)}) {
    ExpectRefused({Stage::kLoadingWorker}, attempts);
  }
}

TEST(SystemCalls, OfAWorkerThatServes) {
  for (const auto attempts : {std::span<const Attempt>(kNever), std::span<const Attempt>(kNeverOfChildren),
                              std::span<const Attempt>(kNeverOfWorkers), std::span<const Attempt>(kNeverWhileLoading),
                              std::span<const Attempt>(kNeverWhileServing)}) {
    ExpectRefused({Stage::kLoadingWorker, Stage::kServingWorker}, attempts);
  }
}

TEST(SystemCalls, OfAThreadThatWasThereBefore) {
  const int failed = InChild([] {
    int ends[2];
    if (pipe(ends) != 0) return 1;
    int opened = 0;
    std::thread former([&] {
      char byte;
      if (read(ends[0], &byte, 1) == 1) opened = open("/dev/null", O_RDONLY);
    });
    if (!LimitSystemCalls(Stage::kServingWorker).ok()) return 2;
    if (write(ends[1], "x", 1) != 1) return 3;
    former.join();
    return opened == -1 ? 0 : 4;
  });
  EXPECT_EQ(failed, 0);
}

TEST(SystemCalls, LeaveThreadsMemoryAndOpenFiles) {
  const int failed = InChild([] {
    int ends[2];
    if (pipe(ends) != 0 || !LimitSystemCalls(Stage::kServingWorker).ok()) return 1;
    std::vector<char> memory(64 << 20, 'x');
    std::thread writer([&] { memory[0] = write(ends[1], &memory[1], 1) == 1 ? 'y' : 'n'; });
    writer.join();
    int policy;
    sched_param parameters;  // which absl::Mutex asks for
    if (pthread_getschedparam(pthread_self(), &policy, &parameters) != 0) return 3;
    rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0) return 4;
    struct flock lock {};
    lock.l_type = F_RDLCK;
    if (fcntl(ends[0], F_OFD_SETLK, &lock) != 0 && errno == EPERM) return 5;
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) return 6;
    char byte = 0;
    return memory[0] == 'y' && read(ends[0], &byte, 1) == 1 && byte == 'x' ? 0 : 2;
  });
  EXPECT_EQ(failed, 0);
}

TEST(SystemCalls, LetAProcessAbort) {
  const pid_t child = fork();
  if (child == 0) {
    if (!LimitSystemCalls(Stage::kServingWorker).ok()) _exit(1);
    std::abort();
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
}

TEST(SystemCalls, LetTheGatewayRaiseItsDescriptors) {
  const int failed = InChild([] {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || !LimitSystemCalls(Stage::kGateway).ok()) return 1;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? 0 : 2;
  });
  EXPECT_EQ(failed, 0);
}

TEST(SystemCalls, LetALoadingWorkerRead) {
  const int failed = InChild([] {
    if (!LimitSystemCalls(Stage::kLoadingWorker).ok()) return 4;
    if (open("/proc/self/status", O_RDONLY) < 0) return 5;
    if (setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0)) != 0) return 6;
    return LimitSystemCalls(Stage::kServingWorker).ok() ? 0 : 7;
  });
  EXPECT_EQ(failed, 0);
}

TEST(SystemCalls, LetTheSupervisorStartPrograms) {
  const int failed = InChild([] {
    if (!LimitSystemCalls(Stage::kSupervisor).ok()) return 1;
    const pid_t child = fork();
    if (child == 0) execl("/bin/true", "true", nullptr);
    int status = -1;
    return waitpid(child, &status, 0) == child && status == 0 && kill(getpid(), 0) == 0 ? 0 : 2;
  });
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace inferd::sandbox
