#include "engine/tokenizer/fingerprint.h"

#include <bit>
#include <cstring>

namespace inferd::tokenizer {
namespace {

// FNV-1a over words of eight bytes, with a shift that brings the upper half down. Strings go in with their lengths, so
// that "ab","c" and "a","bc" differ.
class Hasher {
 public:
  void Add(uint64_t word) {
    hash_ = (hash_ ^ word) * 0x100000001B3;
    hash_ ^= hash_ >> 29;
  }
  void Add(std::string_view text) {
    Add(text.size());
    for (size_t at = 0; at < text.size(); at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, text.data() + at, text.size() - at < 8 ? text.size() - at : 8);
      Add(word);
    }
  }
  void Add(const std::optional<bool>& flag) { Add(uint64_t{flag.has_value() ? 1U + (*flag ? 1U : 0U) : 0U}); }
  uint64_t hash() const { return hash_; }

 private:
  uint64_t hash_ = 0xCBF29CE484222325;
};

}  // namespace

uint64_t FingerprintOf(const VocabularyData& data) {
  static_assert(std::endian::native == std::endian::little);
  Hasher hasher;
  hasher.Add(data.model);
  hasher.Add(data.pre);
  for (const auto& strings : {data.tokens, data.merges}) {
    hasher.Add(strings.size());
    for (const std::string_view text : strings) hasher.Add(text);
  }
  hasher.Add(data.kinds.size());
  for (const int64_t kind : data.kinds) hasher.Add(static_cast<uint64_t>(kind));
  hasher.Add(data.scores.size());
  for (const float score : data.scores) hasher.Add(uint64_t{std::bit_cast<uint32_t>(score)});
  hasher.Add(std::string_view(reinterpret_cast<const char*>(data.charsmap.data()), data.charsmap.size()));
  hasher.Add(data.special_ids.size());
  for (const SpecialId& special : data.special_ids) {
    hasher.Add(special.name);
    hasher.Add(static_cast<uint64_t>(special.id));
  }
  for (const auto& flag : {data.add_bos, data.add_eos, data.add_space_prefix, data.remove_extra_spaces, data.lowercase,
                           data.strip_accents}) {
    hasher.Add(flag);
  }
  if (data.add_separator) hasher.Add(data.add_separator);  // alone where it is there: others keep their fingerprints
  return hasher.hash();
}

}  // namespace inferd::tokenizer
