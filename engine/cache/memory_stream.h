// Saved prefixes in memory instead of a file, for tests and fuzzing.
//
//   MemorySink sink;
//   ASSERT_TRUE(cache.SavePrefixes(identity, most_bytes, sink).ok());
//   MemorySource source(sink.bytes);
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "config/base/status.h"
#include "engine/cache/saved_prefixes.h"

namespace inferd::cache {

// Takes `room` bytes.
class MemorySink : public ByteSink {
 public:
  explicit MemorySink(size_t room = SIZE_MAX) : room_(room) {}
  absl::Status Write(std::span<const uint8_t> more) override {
    if (bytes.size() + more.size() > room_) return ResourceExhausted("the disk is full");
    bytes.insert(bytes.end(), more.begin(), more.end());
    return absl::OkStatus();
  }
  std::vector<uint8_t> bytes;

 private:
  const size_t room_;
};

class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::span<const uint8_t> bytes) : left_(bytes) {}
  absl::Status Read(std::span<uint8_t> out) override {
    if (out.size() > left_.size()) return DataLoss("the stream ends");
    if (!out.empty()) std::memcpy(out.data(), left_.data(), out.size());
    left_ = left_.subspan(out.size());
    return absl::OkStatus();
  }

 private:
  std::span<const uint8_t> left_;
};

}  // namespace inferd::cache
