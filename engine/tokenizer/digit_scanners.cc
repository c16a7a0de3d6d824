// Scanners for pieces of one kind, digits above all.
#include "engine/tokenizer/character_reader.h"
#include "engine/tokenizer/scanners.h"

namespace inferd::tokenizer {
namespace {

constexpr CharacterSet kDecimals = SetOf(Category::kNd);
constexpr CharacterSet kWordCharacters = kLetters | kMarks | kNumbers | SetOf(Category::kPc);  // \w of Oniguruma

// Takes positions in a text and appends them as ends of pieces, each once.
class Cuts {
 public:
  Cuts(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends)
      : begin_(text.data()), last_(text.data()), offset_(offset), ends_(ends) {}
  void Add(const char* at) {
    if (at == last_) return;
    ends_.push_back(offset_ + static_cast<uint32_t>(at - begin_));
    last_ = at;
  }

 private:
  const char* begin_;
  const char* last_;
  uint32_t offset_;
  std::vector<uint32_t>& ends_;
};

// Characters of `set`, up to `limit` together, and what lies between them.
void ScanIsolated(CharacterSet set, int limit, std::string_view text, uint32_t offset, std::vector<uint32_t>& ends) {
  const CharacterReader reader(text.data() + text.size());
  Cuts cuts(text, offset, ends);
  for (const char* at = text.data(); at < reader.end();) {
    if (reader.Is(set, at)) {
      cuts.Add(at);
      at = reader.Skip(set, at, limit);
      cuts.Add(at);
    } else {
      at = reader.At(at).next;
    }
  }
  cuts.Add(reader.end());
}

// Runs of bytes that `wanted` tells, and what lies between them.
template <typename Wanted>
void ScanByteRuns(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends, const Wanted& wanted) {
  for (size_t at = 0; at < text.size();) {
    const bool inside = wanted(text[at]);
    while (at < text.size() && wanted(text[at]) == inside) ++at;
    ends.push_back(offset + static_cast<uint32_t>(at));
  }
}

size_t CountCharacters(const CharacterReader& reader, const char* at, const char* stop) {
  size_t count = 0;
  for (; at < stop; at = reader.At(at).next) ++count;
  return count;
}

// Cuts runs of characters of `set` where a group of three begins, counted from the right, and with `isolate` at both
// ends; may_cut(end) says whether to cut the run that ends there at all.
template <typename MayCut>
void ScanThousandsOf(CharacterSet set, bool isolate, std::string_view text, uint32_t offset,
                     std::vector<uint32_t>& ends, const MayCut& may_cut) {
  const CharacterReader reader(text.data() + text.size());
  Cuts cuts(text, offset, ends);
  for (const char* at = text.data(); at < reader.end();) {
    const char* const stop = reader.Skip(set, at);
    if (stop == at || !may_cut(reader, stop)) {
      at = stop == at ? reader.At(at).next : stop;
      continue;
    }
    if (isolate) cuts.Add(at);
    for (size_t left = CountCharacters(reader, at, stop); left > 0; --left, at = reader.At(at).next) {
      if (left % 3 == 0) cuts.Add(at);
    }
    if (isolate) cuts.Add(stop);
  }
  cuts.Add(reader.end());
}

}  // namespace

void ScanDigit(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends) {
  ScanIsolated(kNumbers, 1, text, offset, ends);
}

void ScanThreeDigits(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends) {
  ScanIsolated(kNumbers, 3, text, offset, ends);
}

void ScanNumbers(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends) {
  ScanIsolated(kNumbers, INT32_MAX, text, offset, ends);
}

void ScanNewline(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends) {
  Cuts cuts(text, offset, ends);
  for (const char& byte : text) {
    if (byte != '\n' && byte != '\r') continue;
    cuts.Add(&byte);
    cuts.Add(&byte + 1);
  }
  cuts.Add(text.data() + text.size());
}

void ScanLines(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends) {
  ScanByteRuns(text, offset, ends, [](char byte) { return byte == '\n'; });
}

void ScanByteDigits(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends) {
  ScanByteRuns(text, offset, ends, [](char byte) {
    constexpr std::string_view kDigits = "0123456789\xB2\xB3\xB9\xBC\xBD\xBE";
    return kDigits.find(byte) != std::string_view::npos;
  });
}

void ScanAsciiTriples(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends) {
  const auto is_digit = [&](size_t at) { return text[at] >= '0' && text[at] <= '9'; };
  Cuts cuts(text, offset, ends);
  for (size_t at = 0; at < text.size();) {
    if (at + 3 <= text.size() && is_digit(at) && is_digit(at + 1) && is_digit(at + 2)) {
      cuts.Add(text.data() + at);
      at += 3;
      cuts.Add(text.data() + at);
    } else {
      ++at;
    }
  }
  cuts.Add(text.data() + text.size());
}

void ScanThousands(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends) {
  ScanThousandsOf(kNumbers, true, text, offset, ends, [](const CharacterReader&, const char*) { return true; });
}

void ScanThousandCuts(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends) {
  ScanThousandsOf(kDecimals, false, text, offset, ends, [](const CharacterReader&, const char*) { return true; });
}

void ScanBoundedThousands(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends) {
  ScanThousandsOf(kDecimals, true, text, offset, ends,
                  [](const CharacterReader& reader, const char* end) { return !reader.Is(kWordCharacters, end); });
}

}  // namespace inferd::tokenizer
