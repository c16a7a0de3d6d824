// One part of a GGUF file as bytes: header, metadata and tensor table, every field checked.
//
//   ASSIGN_OR_RETURN(Part part, ParsePart(bytes));
//   part.tensors[0].data is within bytes
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/gguf/gguf_file.h"

namespace inferd::gguf {

constexpr uint64_t kAllStored = UINT64_MAX;

struct Part {
  uint32_t version;
  uint64_t alignment;  // bytes
  std::vector<Entry> entries;
  std::vector<Tensor> tensors;
};

// INVALID_ARGUMENT names the field at fault ("tensor blk.0.attn_q.weight: offset 8123 is not a multiple of ...").
// `stored_bytes`: how many of them the disk holds; the others are holes of a sparse file.
absl::StatusOr<Part> ParsePart(std::span<const uint8_t> bytes, uint64_t stored_bytes = kAllStored);

// Text of the file made printable for messages: control and non-ASCII bytes as \xNN, long names cut.
std::string Printable(std::string_view text);

}  // namespace inferd::gguf
