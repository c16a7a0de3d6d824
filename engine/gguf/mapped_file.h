// A regular file mapped read-only into memory for as long as the object lives.
//
//   ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open("model.gguf"));
//   std::span<const uint8_t> bytes = file.bytes();
//
// The mapping shows the file as it is on disk: a file that is truncated while mapped ends the process with SIGBUS when
// the lost part is read. A worker serves one file for that reason; replace model files by rename.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace inferd::gguf {

class MappedFile {
 public:
  // INVALID_ARGUMENT for what is no regular file or is empty; NOT_FOUND, PERMISSION_DENIED, ... as the system says.
  static absl::StatusOr<MappedFile> Open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedFile();

  std::span<const uint8_t> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  std::span<const uint8_t> bytes_;
};

}  // namespace inferd::gguf
