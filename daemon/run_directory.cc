#include "daemon/run_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <optional>

#include "config/base/status.h"
#include "daemon/admin_peer.h"

namespace inferd::daemon {
namespace {

constexpr size_t kMaxNameBytes = 32;
constexpr size_t kMaxSocketPathBytes = sizeof(sockaddr_un::sun_path) - 1;

absl::Status MakeDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0) return absl::OkStatus();
  if (errno != EEXIST) return FromErrno(errno, fmt::format("run_directory: make {}", path));
  struct stat file;
  if (stat(path.c_str(), &file) != 0) return FromErrno(errno, path);
  if (!S_ISDIR(file.st_mode)) return AtField("run_directory", FailedPrecondition("{} is not a directory", path));
  if (file.st_uid != geteuid() && geteuid() != 0) {
    return AtField("run_directory",
                   FailedPrecondition("{} belongs to user {}, not to {}", path, file.st_uid, geteuid()));
  }
  if (access(path.c_str(), W_OK | X_OK) != 0) return FromErrno(errno, fmt::format("run_directory: {}", path));
  return absl::OkStatus();
}

// The kernel frees the lock when the process ends, however it ends.
absl::StatusOr<UniqueFd> Lock(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return FromErrno(errno, path);
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return AlreadyExists("{}: held by another inferd that runs there", path);
  return fd;
}

void RemoveSockets(const std::string& path) {
  DIR* const directory = opendir(path.c_str());
  if (directory == nullptr) return;
  while (const dirent* entry = readdir(directory)) {
    if (std::string_view(entry->d_name).ends_with(".sock")) unlink((path + "/" + entry->d_name).c_str());
  }
  closedir(directory);
}

// FNV-1a, 32 bits: tells names apart, no more.
uint32_t Digest(std::string_view text) {
  uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

std::string FileName(std::string_view model) {
  std::string name(model.substr(0, kMaxNameBytes));
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c) && c != '-' && c != '_'; }, '_');
  return name == model ? name : fmt::format("{}-{:08x}", name, Digest(model));
}

}  // namespace

absl::StatusOr<UniqueFd> PrepareRunDirectory(const std::string& directory) {
  RETURN_IF_ERROR(MakeDirectory(directory));
  RETURN_IF_ERROR(MakeDirectory(directory + "/w"));
  ASSIGN_OR_RETURN(UniqueFd lock, Lock(directory + "/lock"));
  RemoveSockets(directory + "/w");
  return lock;
}

absl::Status OpenToGroup(const std::string& group, const std::string& directory, const std::string& socket_path) {
  if (group.empty()) return absl::OkStatus();
  const std::optional<gid_t> found = GroupNamed(group);
  if (!found) return AtField("listen.admin_group", NotFound("there is no group \"{}\"", group));
  const auto open_up = [&](const std::string& path, mode_t mode) {
    return GiveToGroup(path, *found, mode, fmt::format("listen.admin_group: {} for {}", path, group));
  };
  if (socket_path.starts_with(directory + "/")) RETURN_IF_ERROR(open_up(directory, 0710));
  return open_up(socket_path, 0660);
}

absl::Status GiveToGroup(const std::string& path, gid_t group, mode_t mode, const std::string& what) {
  const bool done = chown(path.c_str(), static_cast<uid_t>(-1), group) == 0 && chmod(path.c_str(), mode) == 0;
  return done ? absl::OkStatus() : FromErrno(errno, what);
}

std::string WorkerSocketPath(const std::string& directory, std::string_view model, uint64_t version) {
  std::string path = fmt::format("{}/w/{}-{}.sock", directory, FileName(model), version);
  if (path.size() <= kMaxSocketPathBytes) return path;
  return fmt::format("{}/w/{:08x}-{}.sock", directory, Digest(model), version);
}

}  // namespace inferd::daemon
