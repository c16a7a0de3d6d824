// The whole of a buffer into a descriptor that blocks, however many writes it takes.
//
//   RETURN_IF_ERROR(WriteAll(fd.get(), bytes, path));
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"

namespace inferd {

// The error of write(2), with `path` before it; some bytes may have been written then.
absl::Status WriteAll(int fd, std::span<const uint8_t> bytes, std::string_view path);

}  // namespace inferd
