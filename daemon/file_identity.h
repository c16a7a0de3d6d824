// Whether the files of a model are still those that were loaded. A model in several files (NAME-00001-of-00003.gguf) is
// all of them together, and so is one with the draft model that it speculates with.
//
//   ASSIGN_OR_RETURN(FileIdentity now, IdentifyModel(options));
//   if (now != loaded) Swap();
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "config/config.h"

namespace inferd::daemon {

struct FileIdentity {
  // Of the first part; the size is that of all parts.
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size_bytes = 0;
  // Of the part that changed last.
  int64_t changed_nanoseconds = 0;
  // Of the first 64 KiB, where a GGUF file has its metadata, and of what identifies the other parts.
  uint64_t header_digest = 0;
  // The same of the draft model's file; all 0: none.
  uint64_t draft_size_bytes = 0;
  uint64_t draft_digest = 0;
  // The same of the operator's chat template.
  uint64_t template_digest = 0;

  // What is mapped once the model is loaded.
  uint64_t all_bytes() const { return size_bytes + draft_size_bytes; }

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// Reads the headers, so not on the loop's thread. NOT_FOUND, PERMISSION_DENIED, ...; INVALID_ARGUMENT if it is no
// regular file.
absl::StatusOr<FileIdentity> IdentifyFile(const std::string& path);

// Of the model's file, and of the draft model's and the operator's chat template if there are any. Errors of
// IdentifyFile, for the latter with the option's name.
absl::StatusOr<FileIdentity> IdentifyModel(const config::ModelOptions& model);

// Whether the same files begin as GGUF files do. INVALID_ARGUMENT, and errors of reading.
absl::Status CheckModelFiles(const config::ModelOptions& model);

// Whether a process that was started from `started` would be another one if it were started from `program` now; false
// if the file cannot be read.
bool IsAnotherFile(const FileIdentity& started, const std::string& program);

}  // namespace inferd::daemon
