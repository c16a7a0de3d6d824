#include "config/base/write_all.h"

#include <unistd.h>

#include <cerrno>

#include "config/base/status.h"

namespace inferd {

absl::Status WriteAll(int fd, std::span<const uint8_t> bytes, std::string_view path) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FromErrno(errno, fmt::format("{}: writing", path));
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

}  // namespace inferd
