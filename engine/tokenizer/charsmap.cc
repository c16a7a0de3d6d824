#include "engine/tokenizer/charsmap.h"

#include <cstring>

#include "config/base/status.h"
#include "engine/tokenizer/utf8.h"

namespace inferd::tokenizer {
namespace {

// The fields of a unit.
constexpr uint32_t kAbsent = 0x80000000U;  // bit 31 and bits 0 to 7: the label, which no byte equals with bit 31 set
uint32_t LabelOf(uint32_t unit) { return unit & 0x800000FFU; }
bool HasLeaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t OffsetOf(uint32_t unit) { return unit >> 10 << ((unit & 0x200U) >> 6); }
uint32_t ValueOf(uint32_t unit) { return unit & 0x7FFFFFFFU; }

}  // namespace

absl::StatusOr<Charsmap> Charsmap::Create(std::span<const uint8_t> bytes) {
  Charsmap map;
  if (bytes.empty()) {
    map.inert_.set();
    return map;
  }
  constexpr std::string_view kKey = "tokenizer.ggml.precompiled_charsmap";
  uint32_t array_bytes = 0;
  if (bytes.size() < sizeof array_bytes) return InvalidArgument("{}: {} bytes, expected 4 or more", kKey, bytes.size());
  std::memcpy(&array_bytes, bytes.data(), sizeof array_bytes);
  bytes = bytes.subspan(sizeof array_bytes);
  if (array_bytes == 0 || array_bytes % 4 != 0 || array_bytes >= bytes.size()) {
    return InvalidArgument("{}: an array of {} bytes, expected a multiple of 4 below {}", kKey, array_bytes,
                           bytes.size());
  }
  if (bytes.back() != 0) return InvalidArgument("{}: the last replacement has no end", kKey);
  map.units_ = bytes.first(array_bytes);
  map.replacements_ = {reinterpret_cast<const char*>(bytes.data()) + array_bytes, bytes.size() - array_bytes};
  for (uint8_t byte = 0; byte < 128; ++byte) map.inert_[byte] = !map.ChangesBeforeAscii(byte);
  return map;
}

bool Charsmap::ChangesBeforeAscii(uint8_t byte) const {
  size_t node = OffsetOf(Unit(0)) ^ byte;
  const uint32_t unit = Unit(node);
  if (byte == 0 || LabelOf(unit) != byte) return false;
  if (HasLeaf(unit)) return true;
  node ^= OffsetOf(unit);
  for (uint32_t next = 1; next < 128; ++next) {
    if (LabelOf(Unit(node ^ next)) == next) return true;
  }
  return false;
}

size_t Charsmap::InertPrefix(std::string_view text) const {
  const auto is_ascii = [&](size_t at) { return at == text.size() || static_cast<uint8_t>(text[at]) < 128; };
  size_t end = 0;
  while (end < text.size() && is_ascii(end) && inert_[static_cast<uint8_t>(text[end])] && is_ascii(end + 1)) ++end;
  return end;
}

std::string Charsmap::Normalize(std::string_view text) const {
  std::string result;
  result.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    if (const size_t inert = InertPrefix(text); inert > 0) {
      result += text.substr(0, inert);
      text.remove_prefix(inert);
      continue;
    }
    const Match match = LongestPrefix(text);
    if (match.bytes > 0) {
      result += match.replacement;
      text.remove_prefix(match.bytes);
      continue;
    }
    const Character character = DecodeUtf8(text.data(), text.data() + text.size());
    if (character.code_point == kBrokenCharacter) {
      AppendUtf8(U'\uFFFD', result);
    } else {
      result += text.substr(0, character.bytes);
    }
    text.remove_prefix(character.bytes);
  }
  return result;
}

Charsmap::Match Charsmap::LongestPrefix(std::string_view text) const {
  Match match;
  if (units_.empty()) return match;
  size_t node = OffsetOf(Unit(0));
  for (size_t depth = 0; depth < text.size(); ++depth) {
    const uint8_t byte = static_cast<uint8_t>(text[depth]);
    node ^= byte;
    const uint32_t unit = Unit(node);
    if (byte == 0 || LabelOf(unit) != byte) break;
    node ^= OffsetOf(unit);
    if (!HasLeaf(unit)) continue;
    const uint32_t begin = ValueOf(Unit(node));
    if (begin < replacements_.size()) match = {depth + 1, replacements_.data() + begin};
  }
  return match;
}

uint32_t Charsmap::Unit(size_t index) const {
  if (index >= units_.size() / 4) return kAbsent;
  uint32_t unit = 0;
  std::memcpy(&unit, units_.data() + index * 4, sizeof unit);
  return unit;
}

}  // namespace inferd::tokenizer
