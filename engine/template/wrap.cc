#include "engine/template/wrap.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "config/base/status.h"
#include "engine/template/text_functions.h"
#include "engine/template/unicode.h"

namespace inferd::chat_template {
namespace {

// The paragraph as code points, with the byte offset of each and of the end.
struct Points {
  std::u32string points;
  std::vector<size_t> offsets;
};

Points PointsOf(const Text& text) {
  Points result;
  for (size_t at = 0; at < text.size();) {
    result.offsets.push_back(at);
    result.points.push_back(NextCodePoint(text.bytes(), at));
  }
  result.offsets.push_back(text.size());
  return result;
}

bool IsWhite(char32_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool IsLetter(char32_t c) { return IsWord(c) && !IsDecimal(c); }
bool IsWordOrMark(char32_t c) {
  return IsWord(c) || (c < 0x80 && std::string_view("!\"'&.,?").find(static_cast<char>(c)) != std::string_view::npos);
}

// Where the line may be cut: the ends of the pieces of a paragraph (words, whitespace, words up to a hyphen).
class Chopper {
 public:
  Chopper(const std::u32string& text, bool at_hyphens) : text_(text), at_hyphens_(at_hyphens) {}

  // The end of the piece that begins at `begin`.
  size_t PieceEnd(size_t begin) const {
    size_t at = begin + 1;
    if (IsWhite(text_[begin])) {
      while (at < text_.size() && IsWhite(text_[at])) ++at;
      return at;
    }
    if (at_hyphens_ && IsDashes(begin)) {
      while (at < text_.size() && text_[at] == '-') ++at;
      return at;
    }
    for (; at < text_.size() && !IsWhite(text_[at]); ++at) {
      if (!at_hyphens_) continue;
      if (IsHyphen(at)) return at + 1;
      if (IsDashes(at)) return at;
    }
    return at;
  }

 private:
  char32_t At(size_t place) const { return place < text_.size() ? text_[place] : U'\0'; }
  char32_t Back(size_t place, size_t distance) const { return distance <= place ? text_[place - distance] : U'\0'; }

  // Two or more dashes between a word and a word.
  bool IsDashes(size_t at) const {
    if (At(at) != '-' || At(at + 1) != '-' || !IsWordOrMark(Back(at, 1))) return false;
    size_t end = at;
    while (At(end) == '-') ++end;
    return IsWord(At(end));
  }
  // A hyphen inside of a word: behind two letters, or a letter, a hyphen and a word's character; before two letters.
  bool IsHyphen(size_t at) const {
    if (At(at) != '-') return false;
    const bool behind = (IsLetter(Back(at, 1)) && IsLetter(Back(at, 2))) ||
                        (IsWordOrMark(Back(at, 1)) && Back(at, 2) == '-' && IsLetter(Back(at, 3)));
    const size_t second = At(at + 2) == '-' ? at + 3 : at + 2;
    return behind && IsLetter(At(at + 1)) && IsLetter(At(second));
  }

  const std::u32string& text_;
  const bool at_hyphens_;
};

struct Piece {
  size_t begin;
  size_t end;
};

}  // namespace

absl::StatusOr<std::vector<Text>> WrapLine(Heap& heap, const Text& paragraph, const WrapOptions& options) {
  if (options.width <= 0) return InvalidArgument("invalid width {} (must be > 0)", options.width);
  RETURN_IF_ERROR(heap.Step(1 + paragraph.size()));
  const Points points = PointsOf(paragraph);
  const Chopper chopper(points.points, options.break_on_hyphens);
  const auto is_white = [&](const Piece& piece) { return IsWhite(points.points[piece.begin]); };
  const auto width = static_cast<size_t>(options.width);
  std::vector<Piece> pieces;  // reversed: the next one is the last
  for (size_t begin = 0; begin < points.points.size(); begin = pieces.back().end) {
    pieces.push_back({begin, chopper.PieceEnd(begin)});
  }
  std::reverse(pieces.begin(), pieces.end());
  Heap::Scratch scratch(heap);
  std::vector<Text> lines;
  while (!pieces.empty()) {
    std::vector<Piece> line;
    size_t size = 0;
    if (is_white(pieces.back()) && !lines.empty()) pieces.pop_back();
    while (!pieces.empty() && size + (pieces.back().end - pieces.back().begin) <= width) {
      size += pieces.back().end - pieces.back().begin;
      line.push_back(pieces.back());
      pieces.pop_back();
    }
    if (!pieces.empty() && pieces.back().end - pieces.back().begin > width) {
      Piece& word = pieces.back();
      if (options.break_long_words) {
        size_t cut = word.begin + (width - size);
        if (options.break_on_hyphens) {
          // A hyphen within reach is the better place, if something other than hyphens stands before it.
          const std::u32string_view reach = std::u32string_view(points.points).substr(word.begin, width - size);
          const size_t hyphen = reach.rfind(U'-');
          const bool usable = hyphen != reach.npos && reach.substr(0, hyphen).find_first_not_of(U'-') != reach.npos;
          if (usable) cut = word.begin + hyphen + 1;
        }
        line.push_back({word.begin, cut});
        word.begin = cut;
      } else if (line.empty()) {
        line.push_back(word);
        pieces.pop_back();
      }
    }
    if (!line.empty() && line.back().end > line.back().begin && is_white(line.back())) line.pop_back();
    if (line.empty()) continue;
    const size_t begin = points.offsets[line.front().begin];
    lines.push_back(paragraph.Slice(begin, points.offsets[line.back().end]));
    RETURN_IF_ERROR(scratch.Add(kPieceBytes + lines.back().size()));
    RETURN_IF_ERROR(heap.Step());
  }
  return lines;
}

}  // namespace inferd::chat_template
