// Checksums and counts of the pieces.
#include "engine/cache/saved_prefixes.h"

#include "config/base/status.h"

namespace inferd::cache {

absl::Status PieceWriter::Write(std::span<const uint8_t> bytes) {
  checksum_.Add(bytes);
  bytes_ += static_cast<int64_t>(bytes.size());
  return sink_.Write(bytes);
}

absl::Status PieceReader::Read(std::span<uint8_t> bytes) {
  RETURN_IF_ERROR(source_.Read(bytes));
  checksum_.Add(bytes);
  bytes_ += static_cast<int64_t>(bytes.size());
  return absl::OkStatus();
}

absl::Status PieceReader::CheckChecksum() {
  const uint64_t expected = checksum_.value();
  uint64_t found = 0;
  RETURN_IF_ERROR(ReadValue(found));
  if (found == expected) return absl::OkStatus();
  return DataLoss("the checksum at byte {} is wrong", bytes_ - static_cast<int64_t>(sizeof(found)));
}

}  // namespace inferd::cache
