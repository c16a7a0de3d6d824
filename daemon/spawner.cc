// Between fork and exec the child makes system calls alone: other threads of ours may hold any lock.
#include "daemon/spawner.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <limits>

#include "config/base/child_process.h"
#include "config/base/status.h"
#include "config/environment.h"

namespace inferd::daemon {
namespace {

struct Pipe {
  UniqueFd read_end, write_end;
};

absl::StatusOr<Pipe> OpenPipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return FromErrno(errno, "pipe");
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// A file in memory that nobody can change any more.
absl::StatusOr<UniqueFd> SealedFile(const std::string& content) {
  UniqueFd fd(memfd_create("inferd.yaml", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return FromErrno(errno, "memfd_create");
  if (write(fd.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size())) {
    return FromErrno(errno, "write of the configuration for a child");
  }
  const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (fcntl(fd.get(), F_ADD_SEALS, seals) != 0) return FromErrno(errno, "F_ADD_SEALS");
  return fd;
}

// All that the child needs, made before the fork.
struct ExecPlan {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::vector<int> inherited;
  std::string oom_score;
  std::string not_executed;  // what to say if the program is not there
  int null_fd = -1;
  int report_fd = -1;
  pid_t parent = -1;
  bool limit_cpus = false;
  cpu_set_t cpus{};
  int nice = 0;
  uint64_t memory_limit_bytes = 0;
  int group_fd = -1;
  std::vector<char*> argv, envp;

  void Finish() {
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    for (std::string& variable : environment) envp.push_back(variable.data());
    envp.push_back(nullptr);
  }
};

void SetOomScore(const std::string& score) {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = write(fd, score.data(), score.size());
  close(fd);
}

// With what the last system call said; its text, unlike strerror's, is there without a lock or memory.
[[noreturn]] void FailChild(const ExecPlan& plan, int exit_code, std::string_view what) {
  const char* const why = strerrordesc_np(errno);
  const std::string_view parts[] = {what, ": ", why == nullptr ? "unknown error" : why, "\n"};
  for (const std::string_view part : parts) {
    [[maybe_unused]] const ssize_t written = write(plan.report_fd, part.data(), part.size());
  }
  _exit(exit_code);
}

void LimitResources(const ExecPlan& plan) {
  if (plan.limit_cpus && sched_setaffinity(0, sizeof plan.cpus, &plan.cpus) != 0) {
    FailChild(plan, kExitUsage, "cpus: none of them is a processor that the daemon may use");
  }
  if (plan.group_fd >= 0 && write(plan.group_fd, "0", 1) != 1) {
    FailChild(plan, kExitUsage, "memory_limit: the control group does not take the process");
  }
  const rlimit memory{.rlim_cur = plan.memory_limit_bytes, .rlim_max = plan.memory_limit_bytes};
  if (plan.memory_limit_bytes > 0 && setrlimit(RLIMIT_DATA, &memory) != 0) {
    FailChild(plan, kExitUsage, "memory_limit: is above the limit that the daemon itself has");
  }
  if (plan.nice != 0 && setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + plan.nice) != 0) {
    FailChild(plan, kExitUsage, "nice: the kernel refuses it");
  }
}

[[noreturn]] void RunChild(const ExecPlan& plan) {
  // Its own group: Ctrl-C on a terminal reaches the supervisor alone, which then drains.
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != plan.parent) _exit(kExitNotExecuted);
  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_DUMPABLE, 1);  // else its entries in /proc are root's; the program hides itself
  SetOomScore(plan.oom_score);
  LimitResources(plan);
  dup2(plan.null_fd, STDIN_FILENO);
  for (const int fd : plan.inherited) fcntl(fd, F_SETFD, 0);
  execve(plan.argv[0], plan.argv.data(), plan.envp.data());
  FailChild(plan, kExitNotExecuted, plan.not_executed);
}

}  // namespace

absl::Status ReadReport(const UniqueFd& report) {
  constexpr size_t kMaxReportBytes = 4096;
  char buffer[kMaxReportBytes];
  const ssize_t count = report ? read(report.get(), buffer, sizeof buffer) : 0;
  if (count <= 0) return absl::OkStatus();
  const std::string_view lines(buffer, static_cast<size_t>(count));
  const size_t end = std::min(lines.find('\n'), lines.size() - 1);
  const std::string_view text = lines.substr(end + 1);
  return InvalidField(lines.substr(0, end), "{}", text.substr(0, text.find('\n')));
}

absl::StatusOr<std::unique_ptr<SystemSpawner>> SystemSpawner::Create(std::unique_ptr<ControlGroups> groups) {
  ASSIGN_OR_RETURN(Pipe lifeline, OpenPipe());
  UniqueFd null_file(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null_file) return FromErrno(errno, "/dev/null");
  return std::unique_ptr<SystemSpawner>(new SystemSpawner(std::move(lifeline.read_end), std::move(lifeline.write_end),
                                                          std::move(null_file), std::move(groups)));
}

absl::StatusOr<Spawned> SystemSpawner::Spawn(const ProcessSpec& spec) {
  ASSIGN_OR_RETURN(const UniqueFd config, SealedFile(spec.config_yaml));
  ASSIGN_OR_RETURN(Pipe report, OpenPipe());
  if (fcntl(report.read_end.get(), F_SETFL, O_NONBLOCK) != 0) return FromErrno(errno, "report pipe");
  UniqueFd group;
  if (groups_ != nullptr && spec.memory_limit_bytes > 0 && !spec.group.empty()) {
    ASSIGN_OR_RETURN(group, groups_->Open(spec.group, spec.memory_limit_bytes + spec.mapped_bytes));
  }

  ExecPlan plan{.environment = config::EnvironmentForChildren(),
                .oom_score = std::to_string(spec.oom_score),
                .not_executed = fmt::format("the program {} cannot be executed", spec.program),
                .null_fd = null_file_.get(),
                .report_fd = report.write_end.get(),
                .parent = getpid(),
                .limit_cpus = !spec.cpus.empty(),
                .nice = spec.nice,
                .memory_limit_bytes = spec.memory_limit_bytes,
                .group_fd = group ? group.get() : -1};
  for (const uint32_t cpu : spec.cpus) CPU_SET(cpu, &plan.cpus);
  plan.arguments = {spec.program, "--config", fmt::format("/dev/fd/{}", config.get())};
  plan.arguments.insert(plan.arguments.end(), spec.arguments.begin(), spec.arguments.end());
  plan.inherited.push_back(config.get());
  std::vector<std::pair<std::string, int>> descriptors = spec.descriptors;
  descriptors.emplace_back("--lifeline-fd", lifeline_read_.get());
  descriptors.emplace_back("--report-fd", report.write_end.get());
  for (const auto& [flag, fd] : descriptors) {
    plan.arguments.insert(plan.arguments.end(), {flag, std::to_string(fd)});
    plan.inherited.push_back(fd);
  }
  plan.Finish();

  // _Fork, unlike fork, runs no handlers of libraries.
  const pid_t pid = _Fork();
  if (pid == 0) RunChild(plan);
  if (pid < 0) return FromErrno(errno, "fork");
  return Spawned{.pid = pid, .report = std::move(report.read_end)};
}

void SystemSpawner::Signal(pid_t pid, int signal) {
  // Other numbers mean groups of processes, or all.
  CHECK(pid > 0);
  // Until we wait for it, the id belongs to our child, even if it is dead.
  kill(pid, signal);
}

void SystemSpawner::Terminate(pid_t pid, Milliseconds drain) {
  CHECK(pid > 0);
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  sigqueue(pid, SIGTERM, {.sival_int = static_cast<int>(std::clamp<int64_t>(drain.count(), 1, kMost))});
}

}  // namespace inferd::daemon
