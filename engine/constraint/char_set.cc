// A range of characters becomes ranges whose bytes vary independently: it is cut where the number of bytes changes, and
// where a leading byte changes while the ones behind it do not go through all their values.
#include "engine/constraint/char_set.h"

#include <algorithm>

namespace inferd::constraint {
namespace {

int BytesOf(uint32_t code) { return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4; }

ByteSet Range(uint8_t first, uint8_t last) {
  ByteSet set;
  for (int byte = first; byte <= last; ++byte) set.set(static_cast<size_t>(byte));
  return set;
}

void Encode(uint32_t first, uint32_t last, std::vector<ByteSequence>& out) {
  std::string low, high;
  AppendUtf8(first, low);
  AppendUtf8(last, high);
  ByteSequence sequence;
  for (size_t i = 0; i < low.size(); ++i) {
    sequence.push_back(Range(static_cast<uint8_t>(low[i]), static_cast<uint8_t>(high[i])));
  }
  // A neighbour that differs in its first byte alone takes it.
  for (ByteSequence& other : out) {
    if (other.size() != sequence.size() || !std::equal(other.begin() + 1, other.end(), sequence.begin() + 1)) continue;
    other[0] |= sequence[0];
    return;
  }
  out.push_back(std::move(sequence));
}

void Split(uint32_t first, uint32_t last, std::vector<ByteSequence>& out) {
  const int bytes = BytesOf(first);
  for (int i = 1; i < bytes; ++i) {
    const uint32_t low_bits = (1u << (6 * i)) - 1;
    if ((first & ~low_bits) == (last & ~low_bits)) continue;
    if ((first & low_bits) != 0) {
      Split(first, first | low_bits, out);
      Split((first | low_bits) + 1, last, out);
      return;
    }
    if ((last & low_bits) != low_bits) {
      Split(first, (last & ~low_bits) - 1, out);
      Split(last & ~low_bits, last, out);
      return;
    }
  }
  Encode(first, last, out);
}

}  // namespace

CharSet::CharSet(std::initializer_list<CharRange> ranges) {
  for (const CharRange& range : ranges) Add(range.first, range.last);
}

void CharSet::Add(uint32_t first, uint32_t last) {
  const auto begin =
      std::find_if(ranges_.begin(), ranges_.end(), [&](const CharRange& range) { return range.last + 1 >= first; });
  auto end = begin;
  for (; end != ranges_.end() && end->first <= last + 1; ++end) {
    first = std::min(first, end->first);
    last = std::max(last, end->last);
  }
  ranges_.insert(ranges_.erase(begin, end), {first, last});
}

void CharSet::Add(const CharSet& other) {
  for (const CharRange& range : other.ranges_) Add(range.first, range.last);
}

CharSet CharSet::Complement() const { return Any().Minus(*this); }

CharSet CharSet::Minus(const CharSet& other) const {
  CharSet left;
  for (CharRange range : ranges_) {
    bool rest = true;
    for (const CharRange& cut : other.ranges_) {
      if (cut.last < range.first) continue;
      if (cut.first > range.last) break;
      if (cut.first > range.first) left.ranges_.push_back({range.first, cut.first - 1});
      rest = cut.last < range.last;
      if (!rest) break;
      range.first = cut.last + 1;
    }
    if (rest) left.ranges_.push_back(range);
  }
  return left;
}

bool CharSet::Has(uint32_t code) const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [&](const CharRange& range) { return range.first <= code && code <= range.last; });
}

std::vector<ByteSequence> Utf8Of(const CharSet& set) {
  std::vector<ByteSequence> sequences;
  const CharSet scalars = set.Minus({{0xD800, 0xDFFF}});
  constexpr CharRange kLengths[] = {{0, 0x7F}, {0x80, 0x7FF}, {0x800, 0xFFFF}, {0x10000, kLastChar}};
  for (const CharRange& length : kLengths) {
    for (const CharRange& range : scalars.ranges()) {
      const uint32_t first = std::max(range.first, length.first), last = std::min(range.last, length.last);
      if (first <= last) Split(first, last, sequences);
    }
  }
  return sequences;
}

void AppendUtf8(uint32_t code, std::string& text) {
  const auto add = [&](uint32_t byte) { text += static_cast<char>(byte); };
  switch (BytesOf(code)) {
    case 1:
      return add(code);
    case 2:
      add(0xC0 | code >> 6);
      return add(0x80 | (code & 0x3F));
    case 3:
      add(0xE0 | code >> 12);
      add(0x80 | (code >> 6 & 0x3F));
      return add(0x80 | (code & 0x3F));
    default:
      add(0xF0 | code >> 18);
      add(0x80 | (code >> 12 & 0x3F));
      add(0x80 | (code >> 6 & 0x3F));
      add(0x80 | (code & 0x3F));
  }
}

}  // namespace inferd::constraint
