// Whether a model file is still the one that was loaded. A model in several files (NAME-00001-of-00003.gguf) is all of
// them together.
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
  // Of the first part; the size is that of all.
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size_bytes = 0;
  // Of the part that changed last.
  int64_t changed_nanoseconds = 0;
  // Of the first 64 KiB, where a GGUF file has its metadata, and of what identifies the other parts.
  uint64_t header_digest = 0;

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// Reads the headers, so not on the loop's thread. NOT_FOUND, PERMISSION_DENIED, ...; INVALID_ARGUMENT if it is no
// regular file.
absl::StatusOr<FileIdentity> IdentifyFile(const std::string& path);

// Whether the process runs another file than the one that is now at `program`; false if either cannot be read.
bool RunsAnotherFile(pid_t pid, const std::string& program);

}  // namespace inferd::daemon
