// Tables of calls, one line for each group, and the calls whose arguments count. The kernel sees no memory behind a
// pointer, so calls that take structures are allowed as a whole or not at all.
#include "config/sandbox/system_calls.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <initializer_list>
#include <memory>
#include <span>

#include "config/base/status.h"

namespace inferd::sandbox {
namespace {

// clang-format off
// Threads, memory, sockets that exist or are accepted, timers and the end of the process.
constexpr int kCommon[] = {
    SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(readv), SCMP_SYS(writev), SCMP_SYS(pread64), SCMP_SYS(lseek),
    SCMP_SYS(close), SCMP_SYS(fstat),
    SCMP_SYS(accept4), SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(recvfrom),
    SCMP_SYS(shutdown), SCMP_SYS(getsockopt), SCMP_SYS(setsockopt), SCMP_SYS(getsockname), SCMP_SYS(getpeername),
    SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_pwait2),
    SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(select), SCMP_SYS(pselect6), SCMP_SYS(eventfd2), SCMP_SYS(pipe2),
    SCMP_SYS(timerfd_create), SCMP_SYS(timerfd_settime), SCMP_SYS(timerfd_gettime),
    SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(get_robust_list), SCMP_SYS(rseq), SCMP_SYS(membarrier),
    SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_getparam), SCMP_SYS(sched_getscheduler),
    SCMP_SYS(getcpu),
    SCMP_SYS(set_tid_address), SCMP_SYS(gettid), SCMP_SYS(getpid), SCMP_SYS(getppid), SCMP_SYS(getuid),
    SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid),
    SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk),
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
    SCMP_SYS(rt_sigtimedwait), SCMP_SYS(restart_syscall),
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep),
    SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(getrandom), SCMP_SYS(uname), SCMP_SYS(sysinfo),
    SCMP_SYS(getrusage), SCMP_SYS(exit), SCMP_SYS(exit_group),
};

// Files to read, where Landlock and their modes allow it.
constexpr int kFiles[] = {
    SCMP_SYS(newfstatat), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(statx), SCMP_SYS(statfs), SCMP_SYS(fstatfs),
    SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat),
    SCMP_SYS(getdents64), SCMP_SYS(getcwd), SCMP_SYS(fadvise64), SCMP_SYS(getpriority), SCMP_SYS(getpgrp),
    SCMP_SYS(getpgid), SCMP_SYS(signalfd4),
};

constexpr int kGatewayCalls[] = {SCMP_SYS(connect), SCMP_SYS(sendmmsg), SCMP_SYS(recvmmsg), SCMP_SYS(sched_getattr),
                                 SCMP_SYS(bind), SCMP_SYS(listen), SCMP_SYS(socketpair)};

// What nobody may do, whatever the user it runs as.
constexpr int kForbidden[] = {
    SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(process_madvise),
    SCMP_SYS(pidfd_getfd), SCMP_SYS(kcmp), SCMP_SYS(perf_event_open), SCMP_SYS(lookup_dcookie),
    SCMP_SYS(bpf), SCMP_SYS(userfaultfd), SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_register),
    SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load), SCMP_SYS(reboot), SCMP_SYS(syslog), SCMP_SYS(iopl), SCMP_SYS(ioperm),
    SCMP_SYS(modify_ldt),
    SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(move_mount), SCMP_SYS(open_tree), SCMP_SYS(fsopen),
    SCMP_SYS(fsconfig), SCMP_SYS(fsmount), SCMP_SYS(fspick), SCMP_SYS(mount_setattr), SCMP_SYS(pivot_root),
    SCMP_SYS(chroot), SCMP_SYS(unshare), SCMP_SYS(setns), SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(acct),
    SCMP_SYS(quotactl), SCMP_SYS(open_by_handle_at), SCMP_SYS(name_to_handle_at), SCMP_SYS(fanotify_init),
    SCMP_SYS(mknod), SCMP_SYS(mknodat),
    SCMP_SYS(settimeofday), SCMP_SYS(clock_settime), SCMP_SYS(clock_adjtime), SCMP_SYS(adjtimex),
    SCMP_SYS(sethostname), SCMP_SYS(setdomainname), SCMP_SYS(vhangup),
    SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(keyctl), SCMP_SYS(personality),
    SCMP_SYS(migrate_pages), SCMP_SYS(move_pages),
};
// clang-format on

// A filter with the first error that adding a rule to it gave.
class Filter {
 public:
  explicit Filter(uint32_t otherwise) : context_(seccomp_init(otherwise), seccomp_release) {
    if (context_ == nullptr) return;
    Note(seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_TSYNC, 1));
    Note(seccomp_attr_set(context_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
    Note(seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2));  // a tree instead of a chain
  }

  void Allow(std::span<const int> calls) {
    for (const int call : calls) Add(SCMP_ACT_ALLOW, call, {});
  }
  void Forbid(std::span<const int> calls) {
    for (const int call : calls) Add(SCMP_ACT_ERRNO(EPERM), call, {});
  }
  // With all of these arguments.
  void AllowWith(int call, std::initializer_list<scmp_arg_cmp> arguments) { Add(SCMP_ACT_ALLOW, call, arguments); }
  void Add(uint32_t action, int call, std::initializer_list<scmp_arg_cmp> arguments) {
    if (context_ == nullptr) return;
    Note(seccomp_rule_add_array(context_.get(), action, call, static_cast<unsigned>(arguments.size()),
                                arguments.begin()));
  }

  absl::Status Load() {
    if (context_ == nullptr) return Internal("seccomp: no filter could be made");
    if (error_ == 0) Note(seccomp_load(context_.get()));
    return error_ == 0 ? absl::OkStatus() : FromErrno(-error_, "seccomp");
  }

 private:
  void Note(int error) {
    if (error_ == 0) error_ = error;
  }
  std::unique_ptr<void, void (*)(scmp_filter_ctx)> context_;
  int error_ = 0;  // 0, or -errno as libseccomp gives it
};

void AllowCommon(Filter& filter) {
  filter.Allow(kCommon);
  // To the peer that there is: an address would connect (MSG_FASTOPEN).
  filter.AllowWith(SCMP_SYS(sendto), {SCMP_A4(SCMP_CMP_EQ, 0)});
  // Memory, but no new code.
  for (const int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)}) {
    filter.AllowWith(call, {SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)});
  }
  // Threads, but no processes. The flags of clone3 cannot be seen: without it the C library takes clone.
  filter.AllowWith(SCMP_SYS(clone), {SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)});
  filter.Add(SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), {});
  filter.AllowWith(SCMP_SYS(prctl), {SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME)});  // of threads
  // Signals within this process (abort and raise send them), and no owner of a descriptor's signals.
  filter.AllowWith(SCMP_SYS(tgkill), {SCMP_A0_32(SCMP_CMP_EQ, static_cast<uint32_t>(getpid()))});
  for (const int command : {F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, F_OFD_SETLK}) {
    filter.AllowWith(SCMP_SYS(fcntl), {SCMP_A1_32(SCMP_CMP_EQ, static_cast<uint32_t>(command))});
  }
  // To ask for its own limits, not to set any.
  filter.AllowWith(SCMP_SYS(prlimit64), {SCMP_A0_32(SCMP_CMP_EQ, 0), SCMP_A2(SCMP_CMP_EQ, 0)});
}

void AllowFiles(Filter& filter) {
  filter.Allow(kFiles);
  constexpr uint64_t kChanging = O_ACCMODE | O_CREAT | O_TRUNC;
  filter.AllowWith(SCMP_SYS(openat), {SCMP_A2(SCMP_CMP_MASKED_EQ, kChanging, O_RDONLY)});
  filter.AllowWith(SCMP_SYS(open), {SCMP_A1(SCMP_CMP_MASKED_EQ, kChanging, O_RDONLY)});
}

// A load takes little of the processors, for a while (worker/quiet_load.h): its own threads and its own group.
void AllowOwnNiceness(Filter& filter) {
  for (const uint32_t kind : {PRIO_PROCESS, PRIO_PGRP}) {
    filter.AllowWith(SCMP_SYS(setpriority), {SCMP_A0_32(SCMP_CMP_EQ, kind), SCMP_A1_32(SCMP_CMP_EQ, 0)});
  }
  filter.AllowWith(SCMP_SYS(prlimit64),
                   {SCMP_A0_32(SCMP_CMP_EQ, 0), SCMP_A1_32(SCMP_CMP_EQ, static_cast<uint32_t>(RLIMIT_NICE))});
}

// Streams alone: datagrams reach whoever is named with them, without connecting.
void AllowStreamSocket(Filter& filter, int family) {
  filter.AllowWith(SCMP_SYS(socket), {SCMP_A0_32(SCMP_CMP_EQ, static_cast<uint32_t>(family)),
                                      SCMP_A1_32(SCMP_CMP_MASKED_EQ, 0xf, SOCK_STREAM)});
}

absl::Status LimitWorker(Stage stage) {
  Filter filter(SCMP_ACT_ERRNO(EPERM));
  AllowCommon(filter);
  if (stage != Stage::kServingWorker) {
    AllowFiles(filter);
    AllowOwnNiceness(filter);
  }
  // The next stage; what a filter takes away, a later one cannot give back.
  if (stage != Stage::kServingWorker) filter.AllowWith(SCMP_SYS(seccomp), {});
  filter.AllowWith(SCMP_SYS(prctl), {SCMP_A0(SCMP_CMP_EQ, PR_SET_NO_NEW_PRIVS)});
  return filter.Load();
}

absl::Status LimitGateway() {
  Filter filter(SCMP_ACT_ERRNO(EPERM));
  AllowCommon(filter);
  AllowFiles(filter);
  filter.Allow(kGatewayCalls);
  for (const int family : {AF_UNIX, AF_INET, AF_INET6}) AllowStreamSocket(filter, family);
  // As many descriptors as it may have.
  filter.AllowWith(SCMP_SYS(prlimit64),
                   {SCMP_A0_32(SCMP_CMP_EQ, 0), SCMP_A1_32(SCMP_CMP_EQ, static_cast<uint32_t>(RLIMIT_NOFILE))});
  // Asio sets and asks descriptors.
  for (const uint32_t request : {0x5421u /* FIONBIO */, 0x541Bu /* FIONREAD */}) {
    filter.AllowWith(SCMP_SYS(ioctl), {SCMP_A1_32(SCMP_CMP_EQ, request)});
  }
  return filter.Load();
}

absl::Status LimitSupervisor() {
  Filter filter(SCMP_ACT_ALLOW);
  filter.Forbid(kForbidden);
  // The flags of clone3 cannot be seen; without it the C library takes clone.
  filter.Add(SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), {});
  for (const uint64_t space :
       {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWPID, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP}) {
    filter.Add(SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), {SCMP_A0(SCMP_CMP_MASKED_EQ, space, space)});
  }
  return filter.Load();
}

}  // namespace

absl::Status LimitSystemCalls(Stage stage) {
  switch (stage) {
    case Stage::kSupervisor:
      return LimitSupervisor();
    case Stage::kGateway:
      return LimitGateway();
    default:
      return LimitWorker(stage);
  }
}

}  // namespace inferd::sandbox
