// A planned model into one file or several parts.
//
//   ASSIGN_OR_RETURN(std::vector<std::string> written,
//                    WriteModel(file, plan, {.path = "small.gguf", .file_type = type, .threads = 4}));
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/gguf/gguf_file.h"
#include "engine/quantize/file_type.h"
#include "engine/quantize/importance.h"
#include "engine/quantize/plan.h"

namespace inferd::quantize {

struct WriteOptions {
  std::string path;             // of the file; of parts, their name without "-00001-of-0000N.gguf"
  uint64_t max_part_bytes = 0;  // of tensors in one part; 0: one file
  const FileType* file_type = nullptr;
  const Importance* importance = nullptr;
  int32_t threads = 1;
  std::function<void(uint64_t source_bytes)> done = [](uint64_t) {};
};

// The paths that WriteModel writes. INVALID_ARGUMENT for too many parts.
absl::StatusOr<std::vector<std::string>> OutputPaths(const Plan& plan, const WriteOptions& options);

// Writes the source's metadata with file type, quantization version and importance file of the new one, and all
// tensors. ALREADY_EXISTS if a path is taken. Each file is written beside its path and renamed; on any error none of
// them is left. Returns the paths.
absl::StatusOr<std::vector<std::string>> WriteModel(const gguf::GgufFile& file, const Plan& plan,
                                                    const WriteOptions& options);

}  // namespace inferd::quantize
