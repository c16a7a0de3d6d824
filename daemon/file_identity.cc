#include "daemon/file_identity.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "config/base/status.h"
#include "config/base/unique_fd.h"

namespace inferd::daemon {
namespace {

constexpr size_t kHeaderBytes = 64 << 10;

// FNV-1a, 64 bits: finds accidental change; device, inode, size and time stand beside it.
uint64_t Digest(std::string_view bytes) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

}  // namespace

absl::StatusOr<FileIdentity> IdentifyFile(const std::string& path) {
  // Not blocking: opening a FIFO would wait for a writer.
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return FromErrno(errno, path);
  struct stat file;
  if (fstat(fd.get(), &file) != 0) return FromErrno(errno, path);
  if (!S_ISREG(file.st_mode)) return InvalidArgument("{}: not a regular file", path);
  std::string header(kHeaderBytes, '\0');
  const ssize_t count = pread(fd.get(), header.data(), header.size(), 0);
  if (count < 0) return FromErrno(errno, path);
  header.resize(static_cast<size_t>(count));
  return FileIdentity{.device = file.st_dev,
                      .inode = file.st_ino,
                      .size_bytes = static_cast<uint64_t>(file.st_size),
                      .changed_nanoseconds = file.st_mtim.tv_sec * 1'000'000'000 + file.st_mtim.tv_nsec,
                      .header_digest = Digest(header)};
}

bool RunsAnotherFile(pid_t pid, const std::string& program) {
  if (pid <= 0) return false;
  // Leads to the file itself, also where its name is another file's by now.
  const absl::StatusOr<FileIdentity> running = IdentifyFile(fmt::format("/proc/{}/exe", pid));
  const absl::StatusOr<FileIdentity> present = IdentifyFile(program);
  return running.ok() && present.ok() && *running != *present;
}

}  // namespace inferd::daemon
