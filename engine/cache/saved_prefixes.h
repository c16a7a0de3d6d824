// The prefix cache as a stream of bytes, so that a text that was known before a restart is known after it.
//
//   ASSIGN_OR_RETURN(SavedPrefixes saved, cache.SavePrefixes(identity, /*most_bytes=*/1 << 28, sink));
//   ASSIGN_OR_RETURN(SavedPrefixes loaded, cache.LoadPrefixes(identity, source, [] { return false; }));
//
// Pages follow each other from the most recently used on, of one text its beginning first, so that what is read of a
// part of the stream is of use. After each piece stands a checksum of all bytes before it: nothing is taken over that
// is not as it was written.
//
//   head     magic, version, bytes of the identity; the index's secret (2 x u64), a hash of the cache's layout
//   identity, then a checksum
//   page     parent (u64), tokens (u32, 1..64), whether a state follows (u32), token ids (i32); a checksum
//            each layer's block, group by group; the recurrent state if one follows; a checksum
//   end      a page of 0 tokens without blocks
//
// Integers are the machine's own: a stream of a machine with another order of bytes has another magic.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "engine/cache/sip_hash.h"

namespace inferd::cache {

struct SavedPrefixes {
  int64_t pages = 0, tokens = 0, bytes = 0;
};

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual absl::Status Write(std::span<const uint8_t> bytes) = 0;
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // All of `bytes`, or DATA_LOSS where the stream ends before.
  virtual absl::Status Read(std::span<uint8_t> bytes) = 0;
};

// A hash of all bytes so far, piece by piece; of errors, not of malice.
class RunningChecksum {
 public:
  void Add(std::span<const uint8_t> bytes) {
    if (!bytes.empty()) value_ = SipHash({value_, bytes.size()}, bytes);
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0x9E3779B97F4A7C15u;
};

// The pieces of a stream on their way out.
class PieceWriter {
 public:
  explicit PieceWriter(ByteSink& sink) : sink_(sink) {}
  absl::Status Write(std::span<const uint8_t> bytes);
  template <typename T>
  absl::Status WriteValue(const T& value) {
    return Write({reinterpret_cast<const uint8_t*>(&value), sizeof(value)});
  }
  absl::Status WriteChecksum() { return WriteValue(checksum_.value()); }
  int64_t bytes() const { return bytes_; }

 private:
  ByteSink& sink_;
  RunningChecksum checksum_;
  int64_t bytes_ = 0;
};

// And on their way in: nothing that was read counts before the checksum after it has been.
class PieceReader {
 public:
  explicit PieceReader(ByteSource& source) : source_(source) {}
  absl::Status Read(std::span<uint8_t> bytes);
  template <typename T>
  absl::Status ReadValue(T& value) {
    return Read({reinterpret_cast<uint8_t*>(&value), sizeof(value)});
  }
  absl::Status CheckChecksum();  // DATA_LOSS
  int64_t bytes() const { return bytes_; }

 private:
  ByteSource& source_;
  RunningChecksum checksum_;
  int64_t bytes_ = 0;
};

}  // namespace inferd::cache
