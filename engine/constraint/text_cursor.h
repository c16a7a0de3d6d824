// A place in a text that is parsed.
//
//   TextCursor cursor(text);
//   if (cursor.Take("::=")) ...
//   std::optional<uint32_t> code = cursor.TakeChar();    // one character of UTF-8
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "config/base/status.h"
#include "engine/constraint/char_set.h"

namespace inferd::constraint {

class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  size_t offset() const { return at_; }
  bool AtEnd() const { return at_ >= text_.size(); }
  // Not at the end.
  char Peek() const { return text_[at_]; }
  std::optional<char> Ahead(size_t bytes) const {
    return at_ + bytes < text_.size() ? std::optional(text_[at_ + bytes]) : std::nullopt;
  }
  bool At(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  void Skip(size_t bytes) { at_ += bytes; }
  bool Take(std::string_view what) {
    if (!At(what)) return false;
    at_ += what.size();
    return true;
  }
  bool Take(char what) { return Take(std::string_view(&what, 1)); }

  // nullopt: not UTF-8, or the end.
  std::optional<uint32_t> TakeChar();
  // A decimal number; one that is too large counts as the largest.
  std::optional<uint32_t> TakeNumber();
  std::optional<uint32_t> TakeHex(int least_digits, int most_digits);

 private:
  std::string_view text_;
  size_t at_ = 0;
};

// Of a class in brackets: a character, or a range of them, which may go backwards. `read_char` takes one from the
// cursor.
template <typename ReadChar>
absl::StatusOr<CharRange> ReadRange(TextCursor& cursor, ReadChar read_char) {
  ASSIGN_OR_RETURN(const uint32_t first, read_char());
  uint32_t last = first;
  if (cursor.At("-") && cursor.Ahead(1) && *cursor.Ahead(1) != ']') {
    cursor.Skip(1);
    ASSIGN_OR_RETURN(last, read_char());
  }
  return CharRange{first, last};
}

}  // namespace inferd::constraint
