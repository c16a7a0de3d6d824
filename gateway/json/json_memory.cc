// Counts the characters that make values. json_memory_test.cc measures what each costs.
#include "gateway/json/json_memory.h"

#include <array>

namespace inferd::gateway {
namespace {

constexpr uint64_t kBase = 8192;     // the parser's own buffers
constexpr uint64_t kValue = 128;     // a value, also while the stack that holds it grows
constexpr uint64_t kMember = 256;    // beside its value: its name, in the table that finds names given twice, too
constexpr uint64_t kTextFactor = 4;  // of all bytes: texts and names are copied, and grow by doubling

constexpr std::array<uint16_t, 256> kCosts = [] {
  std::array<uint16_t, 256> costs{};
  costs['['] = costs['{'] = costs[','] = kValue;
  costs[':'] = kMember;
  return costs;
}();

}  // namespace

uint64_t MostJsonMemory(std::string_view text) {
  uint64_t bytes = kBase + kTextFactor * text.size();
  for (const char c : text) bytes += kCosts[static_cast<unsigned char>(c)];
  return bytes;
}

}  // namespace inferd::gateway
