#include "worker/call_id.h"

#include <string_view>

namespace inferd::worker {
namespace {

constexpr size_t kIdSize = 9;
constexpr std::string_view kCharacters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

// The finalizer of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
uint64_t Mix(uint64_t value) {
  value += 0x9E3779B97F4A7C15;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

}  // namespace

uint64_t CallIdKey(uint64_t seed, std::span<const int32_t> prompt) {
  uint64_t key = Mix(seed);
  for (int32_t token : prompt) key = Mix(key ^ static_cast<uint32_t>(token));
  return key;
}

std::string CallId(uint64_t key, uint32_t choice, uint32_t index) {
  uint64_t value = Mix(key ^ (uint64_t{choice} << 32 | index));
  std::string id;
  for (size_t i = 0; i < kIdSize; ++i, value /= kCharacters.size()) id += kCharacters[value % kCharacters.size()];
  return id;
}

}  // namespace inferd::worker
