// The lexer: a loop over the text between tags, and one over the words inside of a tag. Where it strips whitespace is
// defined by jinja2's documentation ("Whitespace Control"); the corner cases are those of its lexer.
#include <array>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "config/base/status.h"
#include "engine/template/number.h"
#include "engine/template/string_literal.h"
#include "engine/template/token.h"
#include "engine/template/unicode.h"

namespace inferd::chat_template {
namespace {

constexpr std::array<std::string_view, 26> kOperators = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                                         "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                         ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};

bool IsDigitCharacter(char c) { return c >= '0' && c <= '9'; }

std::string NormalizeNewlines(std::string_view source) {
  std::string result;
  result.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      result.push_back('\n');
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      result.push_back(source[i]);
    }
  }
  if (!result.empty() && result.back() == '\n') result.pop_back();
  return result;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(NormalizeNewlines(source)) {}

  absl::StatusOr<std::vector<Token>> Run() {
    while (at_ < source_.size()) RETURN_IF_ERROR(LexText());
    Add(TokenType::kEnd, at_);
    return std::move(tokens_);
  }

 private:
  bool Follows(size_t offset, std::string_view text) const {
    return std::string_view(source_).substr(std::min(offset, source_.size())).starts_with(text);
  }
  size_t SkipSpace(size_t offset) const {
    while (offset < source_.size()) {
      size_t next = offset;
      if (!IsSpace(NextCodePoint(source_, next))) break;
      offset = next;
    }
    return offset;
  }
  Position PositionOf(size_t offset);
  absl::Status Error(size_t offset, std::string_view message) { return ErrorAt(PositionOf(offset), message); }
  Token& Add(TokenType type, size_t offset, std::string text = "") {
    return tokens_.emplace_back(Token{.type = type, .text = std::move(text), .position = PositionOf(offset)});
  }
  void AddData(size_t begin, size_t end, char sign, bool strips_line);
  void EndTag(size_t end) {
    starts_line_ = end > at_ && source_[end - 1] == '\n';
    at_ = end;
  }

  absl::Status LexText();
  absl::Status LexComment(size_t open);
  absl::Status LexRaw(size_t open);
  absl::Status LexTag(bool block);
  size_t BlockEndAt(size_t offset) const;
  size_t VariableEndAt(size_t offset) const;
  size_t RawBeginAt(size_t offset) const;

  absl::Status LexWord();
  bool LexNumber();
  absl::Status LexName();
  absl::Status LexString(bool& found);
  absl::Status LexOperator();
  size_t DigitsAt(size_t offset) const;

  const std::string source_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  bool starts_line_ = true;  // the text before `at_` ends a line
  std::string closers_;      // the brackets that are open in the current tag
  size_t position_offset_ = 0;
  Position position_;
};

Position Lexer::PositionOf(size_t offset) {
  if (offset < position_offset_) {
    position_offset_ = 0;
    position_ = Position();
  }
  while (position_offset_ < offset && position_offset_ < source_.size()) {
    if (NextCodePoint(source_, position_offset_) == '\n') {
      ++position_.line;
      position_.column = 1;
    } else {
      ++position_.column;
    }
  }
  return position_;
}

// The text before a tag: '-' strips all whitespace at its end, otherwise a tag that is alone on its line takes the
// whitespace before it (lstrip_blocks) unless '+' says no.
void Lexer::AddData(size_t begin, size_t end, char sign, bool strips_line) {
  const std::string_view text = std::string_view(source_).substr(begin, end - begin);
  size_t kept = text.size();
  if (sign == '-') {
    while (kept > 0) {
      size_t previous = kept;
      if (!IsSpace(PreviousCodePoint(text, previous))) break;
      kept = previous;
    }
  } else if (sign != '+' && strips_line) {
    const size_t newline = text.rfind('\n');
    const size_t line = newline == text.npos ? 0 : newline + 1;
    if ((line > 0 || starts_line_) && SkipSpace(begin + line) >= end) kept = line;
  }
  if (kept > 0) Add(TokenType::kData, begin, std::string(text.substr(0, kept)));
}

absl::Status Lexer::LexText() {
  const size_t begin = at_;
  size_t open = source_.find('{', begin);
  while (open != source_.npos && !Follows(open, "{{") && !Follows(open, "{%") && !Follows(open, "{#")) {
    open = source_.find('{', open + 1);
  }
  if (open == source_.npos) {
    Add(TokenType::kData, begin, source_.substr(begin));
    at_ = source_.size();
    return absl::OkStatus();
  }
  const char kind = source_[open + 1];
  const char sign = open + 2 < source_.size() ? source_[open + 2] : '\0';
  const bool has_sign = sign == '-' || sign == '+';
  AddData(begin, open, has_sign ? sign : '\0', kind != '{');
  at_ = open + 2 + (has_sign ? 1 : 0);
  if (kind == '#') return LexComment(open);
  if (kind == '%') {
    if (const size_t raw = RawBeginAt(at_); raw != 0) {
      EndTag(raw);
      return LexRaw(open);
    }
  }
  Add(kind == '%' ? TokenType::kBlockBegin : TokenType::kVariableBegin, open);
  return LexTag(kind == '%');
}

absl::Status Lexer::LexComment(size_t open) {
  const size_t close = source_.find("#}", at_);
  if (close == source_.npos) return Error(open, "the comment is never closed");
  size_t end = close + 2;
  const char sign = close > at_ ? source_[close - 1] : '\0';
  if (sign == '-') {
    end = SkipSpace(end);
  } else if (sign != '+' && Follows(end, "\n")) {
    ++end;
  }
  EndTag(end);
  return absl::OkStatus();
}

// Where the text after "{% raw %}" begins, for the text after "{%"; 0 if it is another tag.
size_t Lexer::RawBeginAt(size_t offset) const {
  offset = SkipSpace(offset);
  if (!Follows(offset, "raw")) return 0;
  offset = SkipSpace(offset + 3);
  if (Follows(offset, "-%}")) return SkipSpace(offset + 3);
  return Follows(offset, "%}") ? offset + 2 : 0;
}

absl::Status Lexer::LexRaw(size_t open) {
  for (size_t tag = source_.find("{%", at_); tag != source_.npos; tag = source_.find("{%", tag + 1)) {
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    const bool has_sign = sign == '-' || sign == '+';
    const size_t word = SkipSpace(tag + 2 + (has_sign ? 1 : 0));
    if (!Follows(word, "endraw")) continue;
    const size_t end = BlockEndAt(SkipSpace(word + 6));
    if (end == 0) continue;
    AddData(at_, tag, has_sign ? sign : '\0', true);
    EndTag(end);
    return absl::OkStatus();
  }
  return Error(open, "the raw block is never closed");
}

// Behind the end of a block tag that stands at `offset`, with the newline or the whitespace that it takes; 0: no end.
size_t Lexer::BlockEndAt(size_t offset) const {
  if (Follows(offset, "+%}")) return offset + 3;
  if (Follows(offset, "-%}")) return SkipSpace(offset + 3);
  if (!Follows(offset, "%}")) return 0;
  return Follows(offset + 2, "\n") ? offset + 3 : offset + 2;
}

size_t Lexer::VariableEndAt(size_t offset) const {
  if (Follows(offset, "-}}")) return SkipSpace(offset + 3);
  return Follows(offset, "}}") ? offset + 2 : 0;
}

absl::Status Lexer::LexTag(bool block) {
  closers_.clear();
  while (true) {
    at_ = SkipSpace(at_);
    if (at_ >= source_.size()) return Error(at_, "unexpected end of the template inside of a tag");
    const size_t end = !closers_.empty() ? 0 : block ? BlockEndAt(at_) : VariableEndAt(at_);
    if (end != 0) {
      Add(block ? TokenType::kBlockEnd : TokenType::kVariableEnd, at_);
      EndTag(end);
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(LexWord());
  }
}

absl::Status Lexer::LexWord() {
  const char first = source_[at_];
  if (IsDigitCharacter(first) && LexNumber()) {
    if (tokens_.back().type == TokenType::kEnd) return Error(at_, "an integer needs more than 64 bits");
    return absl::OkStatus();
  }
  size_t next = at_;
  if (IsWord(NextCodePoint(source_, next))) return LexName();
  if (first == '\'' || first == '"') {
    bool found = false;
    RETURN_IF_ERROR(LexString(found));
    if (found) return absl::OkStatus();
  }
  return LexOperator();
}

// Behind digits that single underscores may part; `offset` itself if there are none.
size_t Lexer::DigitsAt(size_t offset) const {
  size_t end = offset;
  while (end < source_.size() && IsDigitCharacter(source_[end])) {
    ++end;
    if (end + 1 < source_.size() && source_[end] == '_' && IsDigitCharacter(source_[end + 1])) ++end;
  }
  return end;
}

// A float needs a fraction or an exponent; an integer may be 0x1f, 0o17, 0b11, 1_000 or zeros. An integer that does
// not fit leaves a kEnd token.
bool Lexer::LexNumber() {
  const size_t whole = DigitsAt(at_);
  size_t end = whole;
  if (Follows(end, ".") && DigitsAt(end + 1) > end + 1) end = DigitsAt(end + 1);
  if (Follows(end, "e") || Follows(end, "E")) {
    const size_t digits = end + (Follows(end + 1, "+") || Follows(end + 1, "-") ? 2 : 1);
    if (DigitsAt(digits) > digits) end = DigitsAt(digits);
  }
  const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
  if (end > whole && !after_dot) {
    const std::optional<double> real = ParseFloat(std::string_view(source_).substr(at_, end - at_));
    Add(TokenType::kFloat, at_).real = real.value_or(0);
    at_ = end;
    return true;
  }
  end = whole;
  if (source_[at_] == '0') {
    const char letter = at_ + 1 < source_.size() ? static_cast<char>(source_[at_ + 1] | 0x20) : '\0';
    end = at_ + 1;
    if (letter == 'x' || letter == 'o' || letter == 'b') {
      size_t digits = at_ + 2;
      const std::string_view allowed = letter == 'x' ? "0123456789abcdefABCDEF" : letter == 'o' ? "01234567" : "01";
      while (digits < source_.size() &&
             (allowed.find(source_[digits]) != allowed.npos || (source_[digits] == '_' && digits + 1 < source_.size() &&
                                                                allowed.find(source_[digits + 1]) != allowed.npos))) {
        ++digits;
      }
      if (digits > at_ + 2) end = digits;
    } else {
      while (end < whole && (source_[end] == '0' || (source_[end] == '_' && source_[end + 1] == '0'))) ++end;
    }
  }
  const auto integer = ParseInteger(std::string_view(source_).substr(at_, end - at_), 0);
  if (!integer.ok() || !integer->has_value()) {
    Add(TokenType::kEnd, at_);
    return true;
  }
  Add(TokenType::kInteger, at_, source_.substr(at_, end - at_)).integer = **integer;
  at_ = end;
  return true;
}

absl::Status Lexer::LexName() {
  size_t end = at_;
  bool valid = true;
  while (end < source_.size()) {
    size_t next = end;
    const char32_t point = NextCodePoint(source_, next);
    if (!IsWord(point)) break;
    valid = valid && (end == at_ ? IsIdentifierStart(point) : IsIdentifierPart(point));
    end = next;
  }
  if (!valid) return Error(at_, "invalid character in identifier");
  Add(TokenType::kName, at_, source_.substr(at_, end - at_));
  at_ = end;
  return absl::OkStatus();
}

absl::Status Lexer::LexString(bool& found) {
  const char quote = source_[at_];
  size_t end = at_ + 1;
  while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
  if (end >= source_.size()) return absl::OkStatus();
  const auto value = ResolveEscapes(std::string_view(source_).substr(at_ + 1, end - at_ - 1));
  if (!value.ok()) return Error(at_, MessageOf(value.status()));
  Add(TokenType::kString, at_, *value);
  at_ = end + 1;
  found = true;
  return absl::OkStatus();
}

absl::Status Lexer::LexOperator() {
  for (const std::string_view spelling : kOperators) {
    if (!Follows(at_, spelling)) continue;
    const char c = spelling[0];
    if (c == '(') closers_.push_back(')');
    if (c == '[') closers_.push_back(']');
    if (c == '{') closers_.push_back('}');
    if (c == ')' || c == ']' || c == '}') {
      if (closers_.empty()) return Error(at_, fmt::format("unexpected '{}'", c));
      if (closers_.back() != c) return Error(at_, fmt::format("unexpected '{}', expected '{}'", c, closers_.back()));
      closers_.pop_back();
    }
    Add(TokenType::kOperator, at_, std::string(spelling));
    at_ += spelling.size();
    return absl::OkStatus();
  }
  size_t end = at_;
  NextCodePoint(source_, end);
  return Error(at_, fmt::format("unexpected character '{}'", source_.substr(at_, end - at_)));
}

}  // namespace

absl::StatusOr<std::vector<Token>> Tokenize(std::string_view source) { return Lexer(source).Run(); }

absl::Status ErrorAt(Position position, std::string_view message) {
  return InvalidArgument("line {}, column {}: {}", position.line, position.column, message);
}

}  // namespace inferd::chat_template
