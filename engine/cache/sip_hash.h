// SipHash-2-4 (Aumasson, Bernstein 2012): a hash whose collisions nobody can construct who does not know the key.
//
//   const uint64_t hash = SipHash({random0, random1}, bytes);
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace inferd::cache {

using SipKey = std::array<uint64_t, 2>;

uint64_t SipHash(const SipKey& key, std::span<const uint8_t> bytes);

}  // namespace inferd::cache
