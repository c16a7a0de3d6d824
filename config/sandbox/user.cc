#include "config/sandbox/user.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "config/base/status.h"
#include "config/base/unique_fd.h"
#include "config/sandbox/landlock.h"

namespace inferd::sandbox {
namespace {

// The change of user takes the permitted capabilities out of use.
absl::Status UsePermitted() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, sets) != 0) return FromErrno(errno, "capabilities");
  for (__user_cap_data_struct& set : sets) set.effective = set.permitted;
  return syscall(SYS_capset, &header, sets) == 0 ? absl::OkStatus() : FromErrno(errno, "capabilities");
}

bool CanOpen(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return errno == ENOENT || errno == ENOTDIR;
  // Through a directory: its entries need not be listed.
  const bool directory = S_ISDIR(status.st_mode);
  const UniqueFd fd(directory ? open((path + "/.").c_str(), O_PATH | O_CLOEXEC)
                              : open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  return static_cast<bool>(fd);
}

}  // namespace

absl::Status CanBecome(uid_t user) {
  const pid_t child = _Fork();
  if (child < 0) return FromErrno(errno, "fork");
  if (child == 0) {
    // Not by the C library's functions: they would wait for the threads that the parent has.
    const bool done = syscall(SYS_setgroups, 0, nullptr) == 0 && syscall(SYS_setresgid, user, user, user) == 0 &&
                      syscall(SYS_setresuid, user, user, user) == 0;
    _exit(done ? 0 : errno);
  }
  int status = 0;
  while (waitpid(child, &status, 0) != child) {
    if (errno != EINTR) return FromErrno(errno, "waitpid");
  }
  const int error = WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
  return error == 0 ? absl::OkStatus() : FromErrno(error, fmt::format("user {}", user));
}

absl::Status BecomeUser(uid_t user, const std::vector<gid_t>& groups) {
  int death_signal = 0;
  if (prctl(PR_GET_PDEATHSIG, &death_signal) != 0) return FromErrno(errno, "PR_GET_PDEATHSIG");
  if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0) return FromErrno(errno, "PR_SET_KEEPCAPS");
  if (setgroups(groups.size(), groups.data()) != 0) return FromErrno(errno, "setgroups");
  if (setresgid(user, user, user) != 0) return FromErrno(errno, fmt::format("group {}", user));
  if (setresuid(user, user, user) != 0) return FromErrno(errno, fmt::format("user {}", user));
  if (prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) != 0) return FromErrno(errno, "PR_SET_KEEPCAPS");
  RETURN_IF_ERROR(UsePermitted());
  // A change of user clears it.
  if (prctl(PR_SET_PDEATHSIG, death_signal) != 0) return FromErrno(errno, "PR_SET_PDEATHSIG");
  return absl::OkStatus();
}

absl::StatusOr<std::string> BecomeReader(uid_t user, const std::vector<gid_t>& groups,
                                         const std::vector<std::string>& paths) {
  if (user == 0) return "";
  ASSIGN_OR_RETURN(const int landlock, LandlockVersion());
  if (const std::string unreadable = landlock == 0 ? FirstUnreadable(user, paths) : ""; !unreadable.empty()) {
    return fmt::format("user {} cannot read {}, and the kernel has no Landlock", user, unreadable);
  }
  RETURN_IF_ERROR(BecomeUser(user, groups));
  return "";
}

std::string FirstUnreadable(uid_t user, const std::vector<std::string>& paths) {
  // For access to files alone, and without root's rights to them; back afterwards.
  const auto former_group = static_cast<gid_t>(setfsgid(user));
  const auto former_user = static_cast<uid_t>(setfsuid(user));
  std::string unreadable;
  for (const std::string& path : paths) {
    if (path.empty() || CanOpen(path)) continue;
    unreadable = path;
    break;
  }
  setfsuid(former_user);
  setfsgid(former_group);
  return unreadable;
}

}  // namespace inferd::sandbox
