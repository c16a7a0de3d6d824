// Landlock by system call (glibc has no wrappers), seccomp by libseccomp.
#include "worker/sandbox.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

#include "config/base/status.h"
#include "config/base/unique_fd.h"

namespace inferd::worker {
namespace {

constexpr uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kSocket = LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_REMOVE_FILE;
// Everything that the first version of Landlock can forbid.
constexpr uint64_t kAll = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
// What the C library and the device read: time zone, cores and their quota.
constexpr const char* kSystemDirectories[] = {"/etc", "/usr/share/zoneinfo", "/sys", "/proc", "/dev"};

absl::Status Allow(int ruleset, const std::string& directory, uint64_t access) {
  const UniqueFd fd(open(directory.c_str(), O_PATH | O_CLOEXEC));
  if (!fd) return errno == ENOENT ? absl::OkStatus() : FromErrno(errno, "landlock: " + directory);
  const landlock_path_beneath_attr rule{.allowed_access = access, .parent_fd = fd.get()};
  if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0) return absl::OkStatus();
  return FromErrno(errno, "landlock: " + directory);
}

absl::Status SetLimit(__rlimit_resource resource, rlim_t value) {
  const rlimit limit{.rlim_cur = value, .rlim_max = value};
  return setrlimit(resource, &limit) == 0 ? absl::OkStatus() : FromErrno(errno, "setrlimit");
}

// What threads, memory, gRPC's sockets that exist or are accepted, timers and the end of the process need.
// A line for each group.
// clang-format off
constexpr int kAllowed[] = {
    SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(readv), SCMP_SYS(writev), SCMP_SYS(pread64), SCMP_SYS(lseek),
    SCMP_SYS(close), SCMP_SYS(fstat), SCMP_SYS(fcntl),
    SCMP_SYS(accept4), SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(recvfrom), SCMP_SYS(sendto),
    SCMP_SYS(shutdown), SCMP_SYS(getsockopt), SCMP_SYS(setsockopt), SCMP_SYS(getsockname), SCMP_SYS(getpeername),
    SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_pwait2),
    SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(select), SCMP_SYS(pselect6), SCMP_SYS(eventfd2), SCMP_SYS(pipe2),
    SCMP_SYS(timerfd_create), SCMP_SYS(timerfd_settime), SCMP_SYS(timerfd_gettime),
    SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(get_robust_list), SCMP_SYS(rseq), SCMP_SYS(membarrier),
    SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_getparam),
    SCMP_SYS(sched_getscheduler), SCMP_SYS(getcpu),
    SCMP_SYS(set_tid_address), SCMP_SYS(gettid), SCMP_SYS(getpid), SCMP_SYS(getppid), SCMP_SYS(getuid),
    SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid),
    SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk),
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
    SCMP_SYS(rt_sigtimedwait), SCMP_SYS(tgkill), SCMP_SYS(restart_syscall),
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep),
    SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(getrandom), SCMP_SYS(uname), SCMP_SYS(sysinfo),
    SCMP_SYS(getrusage), SCMP_SYS(prlimit64), SCMP_SYS(exit), SCMP_SYS(exit_group),
};
// clang-format on

// 0, or -errno as libseccomp gives it.
int AddRules(scmp_filter_ctx filter) {
  for (int call : kAllowed) {
    if (const int error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0); error != 0) return error;
  }
  // Memory, but no new code.
  for (int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)}) {
    const scmp_arg_cmp no_code = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
    if (const int error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1, no_code); error != 0) return error;
  }
  // Threads, but no processes. The flags of clone3 cannot be seen: without it the C library takes clone.
  const scmp_arg_cmp thread = SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD);
  if (const int error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, thread); error != 0) return error;
  if (const int error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0); error != 0) return error;
  // Names of threads.
  const scmp_arg_cmp name = SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME);
  return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, name);
}

}  // namespace

absl::Status LimitFiles(const FileAccess& access) {
  const landlock_ruleset_attr attributes{.handled_access_fs = kAll};
  const UniqueFd ruleset(static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0)));
  if (!ruleset) return errno == ENOSYS || errno == EOPNOTSUPP ? absl::OkStatus() : FromErrno(errno, "landlock");
  for (const char* directory : kSystemDirectories) RETURN_IF_ERROR(Allow(ruleset.get(), directory, kRead));
  for (const std::string& directory : access.readable) RETURN_IF_ERROR(Allow(ruleset.get(), directory, kRead));
  if (!access.socket_directory.empty()) {
    RETURN_IF_ERROR(Allow(ruleset.get(), access.socket_directory, kRead | kSocket));
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return FromErrno(errno, "no_new_privs");
  if (syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) return FromErrno(errno, "landlock");
  return absl::OkStatus();
}

absl::Status LimitSystemCalls() {
  RETURN_IF_ERROR(SetLimit(RLIMIT_CORE, 0));  // a core file would hold prompts
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return FromErrno(errno, "no_new_privs");
  const std::unique_ptr<void, void (*)(scmp_filter_ctx)> filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)), seccomp_release);
  if (filter == nullptr) return Internal("seccomp: no filter could be made");
  int error = seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1);
  if (error == 0) error = AddRules(filter.get());
  if (error == 0) error = seccomp_load(filter.get());
  return error == 0 ? absl::OkStatus() : FromErrno(-error, "seccomp");
}

}  // namespace inferd::worker
