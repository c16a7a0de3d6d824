// Loaded into a real worker (LD_PRELOAD), it tries what a model file or a prompt that took the worker over would try:
// once when the model's file is mapped, before anything of it is read, and once when the worker serves. Each attempt is
// a line "STAGE NAME ERRNO" in the file that PROBE_OUTPUT names; ERRNO is 0 where it succeeded.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static int output = -1, tcp = -1, local = -1, file = -1;
static pid_t victim;
static struct sockaddr_in port;
static struct sockaddr_un admin;
static char path[4096];
static int loading_done, ready_done;

__attribute__((constructor)) static void prepare(void) {
  const char* name = getenv("PROBE_OUTPUT");
  if (name == NULL) return;
  output = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  victim = atoi(getenv("PROBE_VICTIM"));
  snprintf(path, sizeof path, "%s", getenv("PROBE_FILE"));
  port.sin_family = AF_INET;
  port.sin_port = htons(atoi(getenv("PROBE_PORT")));
  port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  admin.sun_family = AF_UNIX;
  snprintf(admin.sun_path, sizeof admin.sun_path, "%s", getenv("PROBE_ADMIN"));
  // What a process might have left open.
  tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  file = open(path, O_RDONLY | O_CLOEXEC);
}

static void tell(const char* stage, const char* name, long result) {
  char line[128];
  const int size = snprintf(line, sizeof line, "%s %s %d\n", stage, name, result == -1 ? errno : 0);
  if (write(output, line, size) != size) _exit(99);
}

static long map(int protection) {
  return syscall(SYS_mmap, NULL, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == -1 ? -1 : 0;
}

static long become_code(void) {
  void* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

static long read_memory(void) {
  char byte;
  struct iovec here = {&byte, 1}, there = {(void*)path, 1};
  return process_vm_readv(victim, &here, 1, &there, 1, 0);
}

static long memory_file(void) {
  char name[64];
  snprintf(name, sizeof name, "/proc/%d/mem", victim);
  return open(name, O_RDONLY);
}

static void attempt_all(const char* stage) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  struct rlimit limit = {1, 1};
  struct f_owner_ex owner = {F_OWNER_PID, victim};
  tell(stage, "connect_tcp", connect(tcp, (struct sockaddr*)&port, sizeof port));
  tell(stage, "fast_open_tcp", sendto(tcp, "x", 1, MSG_FASTOPEN, (struct sockaddr*)&port, sizeof port));
  tell(stage, "connect_admin", connect(local, (struct sockaddr*)&admin, sizeof admin));
  tell(stage, "socket_tcp", socket(AF_INET, SOCK_STREAM, 0));
  tell(stage, "socket_unix", socket(AF_UNIX, SOCK_STREAM, 0));
  tell(stage, "socket_udp", socket(AF_INET, SOCK_DGRAM, 0));
  tell(stage, "map_rwx", map(PROT_READ | PROT_WRITE | PROT_EXEC));
  tell(stage, "map_code", map(PROT_READ | PROT_EXEC));
  tell(stage, "become_code", become_code());
  tell(stage, "kill", kill(victim, SIGKILL));
  tell(stage, "tgkill", syscall(SYS_tgkill, victim, victim, SIGKILL));
  tell(stage, "sigqueue", sigqueue(victim, SIGKILL, (union sigval){0}));
  tell(stage, "prlimit64", prlimit(victim, RLIMIT_NOFILE, &limit, NULL));
  tell(stage, "sched_setaffinity", sched_setaffinity(victim, sizeof set, &set));
  tell(stage, "setpriority", setpriority(PRIO_PROCESS, victim, 19));
  tell(stage, "f_setown", fcntl(tcp, F_SETOWN, victim));
  tell(stage, "f_setown_ex", fcntl(tcp, F_SETOWN_EX, &owner));
  tell(stage, "f_setsig", fcntl(tcp, F_SETSIG, SIGKILL));
  tell(stage, "truncate", truncate(path, 0));
  tell(stage, "ftruncate", ftruncate(file, 0));
  tell(stage, "chmod", chmod(path, 0777));
  tell(stage, "fchmod", fchmod(file, 0777));
  tell(stage, "unlink", unlink(path));
  tell(stage, "rename", rename(path, "/tmp/inferd-probe"));
  tell(stage, "open_to_write", open(path, O_WRONLY));
  tell(stage, "create", open("/tmp/inferd-probe", O_CREAT | O_WRONLY, 0600));
  tell(stage, "open_to_read", open(path, O_RDONLY));
  tell(stage, "memory_of_another", memory_file());
  tell(stage, "ptrace", syscall(SYS_ptrace, 16, victim, NULL, NULL));
  tell(stage, "process_vm_readv", read_memory());
  tell(stage, "io_uring", syscall(SYS_io_uring_setup, 1, NULL));
  tell(stage, "userfaultfd", syscall(SYS_userfaultfd, 0));
  tell(stage, "bpf", syscall(SYS_bpf, 0, NULL, 0));
  tell(stage, "execve", execve("/bin/true", NULL, NULL));
  tell(stage, "fork", syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0));
  tell(stage, "setuid", setuid(0));
  tell(stage, "dumpable", prctl(PR_SET_DUMPABLE, 1));
  tell(stage, "unshare", unshare(CLONE_NEWUSER));
  tell(stage, "end", -1);
}

void* mmap64(void* address, size_t size, int protection, int flags, int fd, off64_t offset) {
  // The first mapping of a file, for all to share and of some size, is the model's.
  if (output >= 0 && fd >= 0 && flags == MAP_SHARED && protection == PROT_READ && size > (1 << 20) &&
      !__atomic_exchange_n(&loading_done, 1, __ATOMIC_SEQ_CST)) {
    attempt_all("loading");
  }
  return (void*)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}
void* mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) {
  return mmap64(address, size, protection, flags, fd, offset);
}

ssize_t recvmsg(int fd, struct msghdr* message, int flags) {
  // It serves as soon as it may not open files.
  if (output >= 0 && __atomic_load_n(&loading_done, __ATOMIC_SEQ_CST) && !__atomic_load_n(&ready_done, __ATOMIC_SEQ_CST) &&
      open("/proc/self/status", O_RDONLY | O_CLOEXEC) < 0 && errno == EPERM &&
      !__atomic_exchange_n(&ready_done, 1, __ATOMIC_SEQ_CST)) {
    attempt_all("ready");
  }
  return syscall(SYS_recvmsg, fd, message, flags);
}
