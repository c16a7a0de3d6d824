// Whether a model file is still the one that was loaded.
//
//   ASSIGN_OR_RETURN(FileIdentity now, IdentifyFile(path));
//   if (now != loaded) Swap();
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace inferd::daemon {

struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size_bytes = 0;
  int64_t changed_nanoseconds = 0;
  // Of the first 64 KiB, where a GGUF file has its metadata.
  uint64_t header_digest = 0;

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// Reads the header, so not on the loop's thread. NOT_FOUND, PERMISSION_DENIED, ...; INVALID_ARGUMENT if it is no
// regular file.
absl::StatusOr<FileIdentity> IdentifyFile(const std::string& path);

// Whether the process runs another file than the one that is now at `program`; false if either cannot be read.
bool RunsAnotherFile(pid_t pid, const std::string& program);

}  // namespace inferd::daemon
