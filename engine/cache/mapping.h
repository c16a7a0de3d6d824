// Zeroed memory from the system, touched only where it is used.
//
//   ASSIGN_OR_RETURN(Mapping mapping, Mapping::Create(int64_t{1} << 30));
//   std::memset(mapping.data(), 1, 64);
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

namespace inferd::cache {

// Page-aligned.
class Mapping {
 public:
  static absl::StatusOr<Mapping> Create(int64_t bytes);  // RESOURCE_EXHAUSTED
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();
  uint8_t* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  uint8_t* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace inferd::cache
