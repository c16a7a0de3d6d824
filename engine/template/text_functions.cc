#include "engine/template/text_functions.h"

#include <algorithm>

#include "config/base/status.h"
#include "engine/template/unicode.h"

namespace inferd::chat_template {
namespace {

bool ContainsPoint(std::string_view characters, char32_t point) {
  for (size_t at = 0; at < characters.size();) {
    if (NextCodePoint(characters, at) == point) return true;
  }
  return false;
}

constexpr char32_t kCapitalSigma = 0x3A3;

// Whether the sigma at `offset` ends a word: a cased letter before it and none behind, with nothing but letters'
// neighbours (here: other marks are not looked through) between.
bool IsFinalSigma(std::string_view bytes, size_t offset, size_t end) {
  size_t before = offset;
  if (before == 0 || !IsCased(PreviousCodePoint(bytes, before))) return false;
  size_t after = end;
  return after >= bytes.size() || !IsCased(NextCodePoint(bytes, after));
}

void AppendMapped(Text& out, const Text& text, size_t offset, char32_t point,
                  void (*append)(std::string& out, char32_t point)) {
  std::string mapped;
  append(mapped, point);
  out.Append(mapped, text.TrustedAt(offset));
}

void AppendLowerAt(Text& out, const Text& text, size_t begin, size_t end, char32_t point) {
  if (point == kCapitalSigma && IsFinalSigma(text.bytes(), begin, end)) {
    out.Append("\u03C2", text.TrustedAt(begin));
  } else {
    AppendMapped(out, text, begin, point, AppendLower);
  }
}

}  // namespace

Text Strip(const Text& text, const std::optional<std::string_view>& characters, Ends ends) {
  const std::string& bytes = text.bytes();
  const auto strips = [&](char32_t point) { return characters ? ContainsPoint(*characters, point) : IsSpace(point); };
  size_t begin = 0;
  size_t end = bytes.size();
  while (ends != Ends::kRight && begin < end) {
    size_t next = begin;
    if (!strips(NextCodePoint(bytes, next))) break;
    begin = next;
  }
  while (ends != Ends::kLeft && end > begin) {
    size_t previous = end;
    if (!strips(PreviousCodePoint(bytes, previous))) break;
    end = previous;
  }
  return text.Slice(begin, end);
}

absl::StatusOr<Text> Replace(Heap& heap, const Text& text, std::string_view old, const Text& replacement,
                             int64_t count) {
  const std::string& bytes = text.bytes();
  RETURN_IF_ERROR(heap.CheckString(bytes.size()));
  Text out;
  size_t copied = 0;
  size_t at = 0;
  while (count != 0) {
    at = old.empty() ? at : bytes.find(old, at);
    if (at == std::string::npos || at > bytes.size()) break;
    out.AppendSlice(text, copied, at);
    out.Append(replacement);
    RETURN_IF_ERROR(heap.Step(1 + replacement.size() / 64));
    RETURN_IF_ERROR(heap.CheckSize(out.size()));
    copied = at + old.size();
    if (!old.empty()) {
      at = copied;
    } else if (at < bytes.size()) {
      NextCodePoint(bytes, at);
    } else {
      ++at;  // beyond the end: the empty string was found there too
    }
    if (count > 0) --count;
  }
  out.AppendSlice(text, copied, bytes.size());
  RETURN_IF_ERROR(heap.CheckSize(out.size()));
  return out;
}

absl::StatusOr<std::vector<Text>> SplitAt(Heap& heap, const Text& text, std::string_view separator, int64_t limit,
                                          bool from_right) {
  const std::string& bytes = text.bytes();
  Heap::Scratch scratch(heap);
  std::vector<Text> pieces;
  if (!from_right) {
    size_t begin = 0;
    for (size_t at = bytes.find(separator); at != std::string::npos && limit != 0;
         at = bytes.find(separator, begin), --limit) {
      RETURN_IF_ERROR(scratch.Add(kPieceBytes + at - begin));
      pieces.push_back(text.Slice(begin, at));
      begin = at + separator.size();
    }
    pieces.push_back(text.Slice(begin, bytes.size()));
    return pieces;
  }
  size_t end = bytes.size();
  while (limit != 0 && end >= separator.size()) {
    const size_t at = bytes.rfind(separator, end - separator.size());
    if (at == std::string::npos) break;
    RETURN_IF_ERROR(scratch.Add(kPieceBytes + end - at));
    pieces.push_back(text.Slice(at + separator.size(), end));
    end = at;
    --limit;
  }
  pieces.push_back(text.Slice(0, end));
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

absl::StatusOr<std::vector<Text>> SplitWords(Heap& heap, const Text& text, int64_t limit, bool from_right) {
  Heap::Scratch scratch(heap);
  const std::string& bytes = text.bytes();
  std::vector<std::pair<size_t, size_t>> words;
  for (size_t at = 0; at < bytes.size();) {
    const size_t begin = at;
    if (IsSpace(NextCodePoint(bytes, at))) continue;
    if (words.empty() || words.back().second != begin) {
      RETURN_IF_ERROR(scratch.Add(kPieceBytes + sizeof words[0]));
      words.emplace_back(begin, begin);
    }
    words.back().second = at;
  }
  std::vector<Text> pieces;
  const size_t cuts = limit < 0 ? words.size() : static_cast<size_t>(limit);
  if (words.size() <= cuts || words.empty()) {
    for (const auto& [begin, end] : words) pieces.push_back(text.Slice(begin, end));
  } else if (!from_right) {
    for (size_t i = 0; i < cuts; ++i) pieces.push_back(text.Slice(words[i].first, words[i].second));
    pieces.push_back(text.Slice(words[cuts].first, bytes.size()));  // the rest keeps its spaces at the end
  } else {
    const size_t rest = words.size() - cuts;
    pieces.push_back(text.Slice(0, words[rest - 1].second));
    for (size_t i = rest; i < words.size(); ++i) pieces.push_back(text.Slice(words[i].first, words[i].second));
  }
  return pieces;
}

absl::StatusOr<std::vector<Text>> SplitLines(Heap& heap, const Text& text, bool keep_ends) {
  Heap::Scratch scratch(heap);
  const std::string& bytes = text.bytes();
  std::vector<Text> lines;
  size_t begin = 0;
  for (size_t at = 0; at < bytes.size();) {
    const size_t end = at;
    const char32_t point = NextCodePoint(bytes, at);
    if (!IsLineBreak(point)) continue;
    if (point == '\r' && at < bytes.size() && bytes[at] == '\n') ++at;
    RETURN_IF_ERROR(scratch.Add(kPieceBytes + at - begin));
    lines.push_back(text.Slice(begin, keep_ends ? at : end));
    begin = at;
  }
  if (begin < bytes.size()) lines.push_back(text.Slice(begin, bytes.size()));
  return lines;
}

Text MapCodePoints(const Text& text, void (*append)(std::string& out, char32_t point)) {
  Text out;
  text.ForEachRun([&](std::string_view run, bool trusted) {
    std::string mapped;
    mapped.reserve(run.size());
    for (size_t at = 0; at < run.size();) append(mapped, NextCodePoint(run, at));
    out.Append(mapped, trusted);
  });
  return out;
}

Text LowerText(const Text& text) {
  if (text.bytes().find("\u03A3") == std::string::npos) return MapCodePoints(text, AppendLower);
  Text out;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t point = NextCodePoint(text.bytes(), at);
    AppendLowerAt(out, text, begin, at, point);
  }
  return out;
}

Text Capitalize(const Text& text) {
  if (text.empty()) return text;
  size_t first = 0;
  const char32_t point = NextCodePoint(text.bytes(), first);
  Text out;
  AppendMapped(out, text, 0, point, AppendTitle);
  const Text lowered = LowerText(text);
  size_t lowered_first = 0;
  std::string head;
  AppendLower(head, point);
  lowered_first = head.size();
  out.AppendSlice(lowered, lowered_first, lowered.size());
  return out;
}

Text TitleWords(const Text& text, bool filter) {
  Text out;
  bool in_word = false;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t point = NextCodePoint(text.bytes(), at);
    const bool parts_words =
        filter ? IsSpace(point) || (point < 0x80 &&
                                    std::string_view("-({[<").find(static_cast<char>(point)) != std::string_view::npos)
               : !IsCased(point);
    if (parts_words) {
      AppendMapped(out, text, begin, point, AppendUtf8);
    } else if (in_word) {
      AppendLowerAt(out, text, begin, at, point);
    } else {
      AppendMapped(out, text, begin, point, filter ? AppendUpper : AppendTitle);
    }
    in_word = !parts_words;
  }
  return out;
}

}  // namespace inferd::chat_template
