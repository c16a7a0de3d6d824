// SentencePiece's compiled character map: replaces the longest prefixes it knows, NFKC and the like.
//
//   ASSIGN_OR_RETURN(Charsmap map, Charsmap::Create(data.charsmap));
//   std::string normalized = map.Normalize("ﬁne");   // "fine"
//
// Format: a u32 with the byte size of a double array (darts-clone, github.com/s-yata/darts-clone), the array of u32
// units, then replacements that end with a zero byte. Little-endian.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace inferd::tokenizer {

class Charsmap {
 public:
  // An empty map changes nothing but bytes that are no UTF-8. The bytes must outlive the map.
  // INVALID_ARGUMENT names tokenizer.ggml.precompiled_charsmap.
  static absl::StatusOr<Charsmap> Create(std::span<const uint8_t> bytes);

  // What the map does not know stays as it is; a byte that is no UTF-8 becomes U+FFFD. An entry that points outside of
  // the map counts as absent.
  std::string Normalize(std::string_view text) const;

 private:
  struct Match {
    size_t bytes = 0;  // 0: none
    std::string_view replacement;
  };
  Match LongestPrefix(std::string_view text) const;
  // Bytes at the start of the text that stay as they are, found without a look at the map.
  size_t InertPrefix(std::string_view text) const;
  bool ChangesBeforeAscii(uint8_t byte) const;
  // A unit of the array; one that is no child and no leaf outside of it.
  uint32_t Unit(size_t index) const;

  std::span<const uint8_t> units_;
  std::string_view replacements_;  // ends with a zero byte
  std::bitset<128> inert_;         // ASCII that stays as it is where ASCII or nothing follows
};

}  // namespace inferd::tokenizer
