#include "engine/model/fingerprint.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <variant>

namespace inferd::model {
namespace {

constexpr uint64_t kFnvOffset = 0xCBF29CE484222325u, kFnvPrime = 0x100000001B3u;  // FNV-1a
constexpr uint64_t kBlock = 4096;

uint64_t Hash(uint64_t hash, const void* bytes, size_t size) {
  const auto* p = static_cast<const uint8_t*>(bytes);
  for (size_t i = 0; i < size; ++i) hash = (hash ^ p[i]) * kFnvPrime;
  return hash;
}

uint64_t Hash(uint64_t hash, uint64_t number) { return Hash(hash, &number, sizeof number); }

// Adds a metadata value to the hash, with its type.
struct ValueHasher {
  uint64_t& hash;

  template <typename T>
  void operator()(const T& number) const {
    hash = Hash(hash, &number, sizeof number);
  }
  void operator()(std::string_view text) const { hash = Hash(hash, text.data(), text.size()); }
  void operator()(const gguf::Array& array) const {
    (*this)(array.size);
    if (array.bytes != nullptr) hash = Hash(hash, array.bytes, array.size * gguf::ValueTypeBytes(array.element_type));
    for (std::string_view text : array.strings) {
      (*this)(text.size());
      (*this)(text);
    }
  }
};

// FNV-1a by words of 8 bytes in eight chains side by side, as fast as memory gives them. One step maps words to sums
// one to one, so that a single changed word always shows.
class BulkHash {
 public:
  void Add(const uint8_t* bytes, uint64_t size) {
    constexpr uint64_t kRow = kLanes * sizeof(uint64_t);
    for (; size >= kRow; bytes += kRow, size -= kRow) AddRow(bytes);
    if (size == 0) return;
    std::array<uint8_t, kRow> last{};
    std::memcpy(last.data(), bytes, size);
    AddRow(last.data());
  }
  uint64_t Sum() const {
    uint64_t hash = kFnvOffset;
    for (const uint64_t chain : chains_) hash = Hash(hash, chain);
    return hash;
  }

 private:
  static constexpr size_t kLanes = 8;

  void AddRow(const uint8_t* bytes) {
    std::array<uint64_t, kLanes> words;
    std::memcpy(words.data(), bytes, sizeof words);
    for (size_t i = 0; i < kLanes; ++i) chains_[i] = Mix(chains_[i] ^ words[i]);
  }
  // Both steps can be undone; the second brings the high bits down to where the next product moves them on.
  static uint64_t Mix(uint64_t value) {
    value *= 0x9E3779B97F4A7C15u;
    return value ^ value >> 32;
  }

  std::array<uint64_t, kLanes> chains_{1, 2, 3, 4, 5, 6, 7, 8};
};

// `share` of the tensor's blocks, at least both ends.
void AddSample(const gguf::Tensor& tensor, double share, BulkHash& hash) {
  const uint64_t blocks = (tensor.bytes + kBlock - 1) / kBlock;
  const uint64_t wanted = std::max<uint64_t>(2, static_cast<uint64_t>(static_cast<double>(blocks) * share));
  if (wanted >= blocks) return hash.Add(tensor.data, tensor.bytes);
  for (uint64_t i = 0; i < wanted; ++i) {
    const uint64_t first = i * (blocks - 1) / (wanted - 1) * kBlock;
    hash.Add(tensor.data + first, std::min(kBlock, tensor.bytes - first));
  }
}

}  // namespace

uint64_t Fingerprint(const gguf::GgufFile& file, uint64_t most_bytes, uint32_t numerics) {
  uint64_t hash = Hash(kFnvOffset, &numerics, sizeof numerics);
  for (const gguf::Entry& entry : file.entries()) {
    hash = Hash(hash, entry.key.data(), entry.key.size());
    std::visit(ValueHasher{hash}, entry.value);
  }
  uint64_t bytes = 0;
  for (const gguf::Tensor& tensor : file.tensors()) {
    hash = Hash(hash, tensor.name.data(), tensor.name.size());
    hash = Hash(hash, tensor.dims.data(), sizeof tensor.dims);
    hash = Hash(hash, &tensor.type, sizeof tensor.type);
    bytes += tensor.bytes;
  }
  const double share =
      bytes <= most_bytes ? 1 : static_cast<double>(most_bytes) / static_cast<double>(std::max<uint64_t>(bytes, 1));
  BulkHash weights;
  for (const gguf::Tensor& tensor : file.tensors()) AddSample(tensor, share, weights);
  return Hash(hash, weights.Sum());
}

}  // namespace inferd::model
