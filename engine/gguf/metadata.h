// The metadata section of a GGUF file: key, type and value of each entry.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/gguf/byte_reader.h"
#include "engine/gguf/gguf_file.h"

namespace inferd::gguf {

// Reads `count` entries; keys are unique, 1..65535 bytes. Memory taken is in proportion to the bytes that are there.
absl::StatusOr<std::vector<Entry>> ReadMetadata(ByteReader& reader, uint64_t count);

}  // namespace inferd::gguf
