// A cursor over little-endian bytes that never reads beyond their end.
//
//   ByteReader reader(bytes);
//   uint32_t magic;
//   if (!reader.Read(&magic)) return InvalidArgument("magic: file ends at byte {}", reader.position());
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace inferd::gguf {

static_assert(std::endian::native == std::endian::little, "GGUF values are read in place");

class ByteReader {
 public:
  explicit ByteReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  uint64_t position() const { return position_; }
  uint64_t remaining() const { return bytes_.size() - position_; }

  // Whether so many elements of at least so many bytes can follow.
  bool Has(uint64_t count, uint64_t bytes_of_each) {
    const bool enough = count <= remaining() / bytes_of_each;
    missed_ = missed_ || !enough;
    return enough;
  }
  // Whether anything was asked for beyond the end.
  bool missed() const { return missed_; }

  template <typename T>
  requires std::is_arithmetic_v<T>
  bool Read(T* out) {
    if (!Has(1, sizeof(T))) return false;
    std::memcpy(out, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return true;
  }

  // nullptr if fewer than `size` bytes remain.
  const uint8_t* Take(uint64_t size) {
    if (!Has(size, 1)) return nullptr;
    const uint8_t* begin = bytes_.data() + position_;
    position_ += size;
    return begin;
  }

  // A u64 length and that many bytes.
  bool ReadString(std::string_view* out) {
    uint64_t size;
    const uint64_t start = position_;
    if (!Read(&size)) return false;
    const uint8_t* begin = Take(size);
    if (begin == nullptr) {
      position_ = start;
      return false;
    }
    *out = std::string_view(reinterpret_cast<const char*>(begin), size);
    return true;
  }

 private:
  std::span<const uint8_t> bytes_;
  uint64_t position_ = 0;
  bool missed_ = false;
};

}  // namespace inferd::gguf
