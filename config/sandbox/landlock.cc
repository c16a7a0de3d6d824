// By system call: glibc has no wrappers, and the headers of a distribution are older than its kernels, so the
// interface (Linux's include/uapi/linux/landlock.h) is written down here as far as it is used.
#include "config/sandbox/landlock.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "config/base/status.h"
#include "config/base/unique_fd.h"

namespace inferd::sandbox {
namespace {

struct RulesetAttributes {
  uint64_t files, tcp, scopes;
};
struct __attribute__((packed)) PathRule {
  uint64_t allowed;
  int32_t parent_fd;
};
constexpr int kPathRule = 1;
constexpr uint32_t kAskVersion = 1;

constexpr uint64_t kReadFile = 1 << 2, kReadDirectory = 1 << 3, kRemoveFile = 1 << 5, kMakeSocket = 1 << 9;
constexpr uint64_t kBindTcp = 1 << 0, kConnectTcp = 1 << 1;
constexpr uint64_t kAbstractSockets = 1 << 0, kSignals = 1 << 1;

// What the C library and the engine ask of the machine: cores and their quota, memory, the time zone, random bytes.
constexpr const char* kSystemDirectories[] = {"/proc", "/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm",
                                              "/usr/share/zoneinfo"};
constexpr const char* kSystemFiles[] = {"/dev/null", "/dev/urandom", "/etc/localtime", "/etc/ssl/openssl.cnf"};

// Every right over files that version `abi` can withhold: 13 at first, then moving (2), truncating (3) and device
// controls (5).
uint64_t FileRights(int abi) {
  const int count = 13 + (abi >= 2) + (abi >= 3) + (abi >= 5);
  return (uint64_t{1} << count) - 1;
}

absl::Status Allow(int ruleset, const std::string& path, uint64_t rights) {
  const UniqueFd fd(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!fd) return errno == ENOENT || errno == ENOTDIR ? absl::OkStatus() : FromErrno(errno, "landlock: " + path);
  struct stat status;
  if (fstat(fd.get(), &status) != 0) return FromErrno(errno, "landlock: " + path);
  if (!S_ISDIR(status.st_mode)) rights &= kReadFile;  // the kernel refuses others for a file
  const PathRule rule{.allowed = rights, .parent_fd = fd.get()};
  if (syscall(SYS_landlock_add_rule, ruleset, kPathRule, &rule, 0) == 0) return absl::OkStatus();
  return FromErrno(errno, "landlock: " + path);
}

absl::Status AllowAll(int ruleset, const Reach& reach) {
  for (const char* path : kSystemDirectories) RETURN_IF_ERROR(Allow(ruleset, path, kReadFile | kReadDirectory));
  for (const char* path : kSystemFiles) RETURN_IF_ERROR(Allow(ruleset, path, kReadFile));
  for (const std::string& path : reach.directories) {
    RETURN_IF_ERROR(Allow(ruleset, path, kReadFile | kReadDirectory));
  }
  for (const std::string& path : reach.files) RETURN_IF_ERROR(Allow(ruleset, path, kReadFile));
  for (const std::string& path : reach.sockets) {
    RETURN_IF_ERROR(Allow(ruleset, path, kReadFile | kReadDirectory | kMakeSocket | kRemoveFile));
  }
  return absl::OkStatus();
}

}  // namespace

void AddFolderOf(const std::string& path, std::vector<std::string>& folders) {
  namespace fs = std::filesystem;
  if (path.empty()) return;
  folders.push_back(fs::path(path).parent_path().string());
  std::error_code error;
  if (const fs::path target = fs::canonical(path, error); !error) folders.push_back(target.parent_path().string());
}

absl::StatusOr<int> LandlockVersion() {
  const auto abi = static_cast<int>(syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion));
  if (abi >= 0) return abi;
  if (errno == ENOSYS || errno == EOPNOTSUPP) return 0;
  return FromErrno(errno, "landlock");
}

absl::StatusOr<int> LimitReach(const Reach& reach) {
  ASSIGN_OR_RETURN(const int abi, LandlockVersion());
  if (abi == 0) return 0;
  const RulesetAttributes attributes{.files = FileRights(abi),
                                     .tcp = (reach.tcp_listen ? 0 : kBindTcp) | (reach.tcp_connect ? 0 : kConnectTcp),
                                     .scopes = kAbstractSockets | kSignals};
  // Older kernels take the beginning of the structure.
  const size_t size = abi < 4 ? sizeof(uint64_t) : abi < 6 ? 2 * sizeof(uint64_t) : sizeof(attributes);
  const UniqueFd ruleset(static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  if (!ruleset) return FromErrno(errno, fmt::format("landlock: rules of version {}", abi));
  RETURN_IF_ERROR(AllowAll(ruleset.get(), reach));
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return FromErrno(errno, "no_new_privs");
  if (syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) return FromErrno(errno, "landlock");
  return abi;
}

}  // namespace inferd::sandbox
