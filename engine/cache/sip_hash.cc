// Section 2 of the paper; words are little-endian.
#include "engine/cache/sip_hash.h"

#include <bit>
#include <cstring>

namespace inferd::cache {
namespace {

static_assert(std::endian::native == std::endian::little);

struct State {
  uint64_t v0, v1, v2, v3;

  void Round() {
    v0 += v1;
    v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32) + v3;
    v2 += v1;
    v3 = std::rotl(v3, 21) ^ v0;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
  void Take(uint64_t word) {
    v3 ^= word;
    Round();
    Round();
    v0 ^= word;
  }
};

}  // namespace

uint64_t SipHash(const SipKey& key, std::span<const uint8_t> bytes) {
  State state{key[0] ^ 0x736F6D6570736575u, key[1] ^ 0x646F72616E646F6Du, key[0] ^ 0x6C7967656E657261u,
              key[1] ^ 0x7465646279746573u};
  uint64_t last = static_cast<uint64_t>(bytes.size()) << 56;
  while (bytes.size() >= 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    state.Take(word);
    bytes = bytes.subspan(8);
  }
  for (size_t i = 0; i < bytes.size(); ++i) last |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  state.Take(last);
  state.v2 ^= 0xFF;
  for (int i = 0; i < 4; ++i) state.Round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace inferd::cache
