#include "engine/gguf/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "config/base/status.h"
#include "config/base/unique_fd.h"

namespace inferd::gguf {
namespace {

std::string_view KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

absl::StatusOr<MappedFile> MappedFile::Open(const std::string& path) {
  // O_NONBLOCK: opening a pipe without a writer must not wait.
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return FromErrno(errno, path);
  struct stat status;
  if (fstat(fd.get(), &status) != 0) return FromErrno(errno, path);
  if (!S_ISREG(status.st_mode)) {
    return InvalidArgument("{}: is {}, expected a regular file", path, KindOf(status.st_mode));
  }
  if (status.st_size == 0) return InvalidArgument("{}: file is empty, expected a GGUF file", path);
  const auto size = static_cast<size_t>(status.st_size);
  void* begin = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (begin == MAP_FAILED) return FromErrno(errno, fmt::format("{}: mapping {} bytes", path, size));
  return MappedFile({static_cast<const uint8_t*>(begin), size});
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

}  // namespace inferd::gguf
