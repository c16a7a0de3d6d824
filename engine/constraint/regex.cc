#include "engine/constraint/regex.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "config/base/status.h"
#include "engine/constraint/text_cursor.h"

namespace inferd::constraint {
namespace {

constexpr uint32_t kMostRepetitions = 100'000;
constexpr int kDeepestGroup = 200;

CharSet Digits() { return {{'0', '9'}}; }
CharSet WordChars() { return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}; }
CharSet Spaces() { return {{'\t', '\r'}, {' ', ' '}}; }

// The set of \d, \w, ... ; nullopt: the letter is no such class.
std::optional<CharSet> ClassOfLetter(uint32_t letter) {
  switch (letter) {
    case 'd':
      return Digits();
    case 'D':
      return Digits().Complement();
    case 'w':
      return WordChars();
    case 'W':
      return WordChars().Complement();
    case 's':
      return Spaces();
    case 'S':
      return Spaces().Complement();
    default:
      return std::nullopt;
  }
}

class RegexReader {
 public:
  RegexReader(std::string_view pattern, Grammar& grammar, const RegexOptions& options)
      : cursor_(pattern), grammar_(grammar), options_(options) {}

  absl::StatusOr<ExprId> Read() {
    ASSIGN_OR_RETURN(const ExprId expr, ReadAlternatives(/*depth=*/0));
    if (!cursor_.AtEnd()) return Error("')' closes no group");
    return expr;
  }

 private:
  template <typename... Args>
  absl::Status Error(fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidArgument("at offset {}: {}", cursor_.offset(), fmt::format(format, std::forward<Args>(args)...));
  }

  ExprId Spell(const CharSet& set) { return options_.spell ? options_.spell(set) : grammar_.Chars(set); }
  ExprId AnyText() { return grammar_.Star(Spell(CharSet::Any())); }

  absl::StatusOr<ExprId> ReadAlternatives(int depth) {
    if (depth > kDeepestGroup) return Error("more than {} groups within each other", kDeepestGroup);
    std::vector<ExprId> choices;
    do {
      ASSIGN_OR_RETURN(const ExprId choice, ReadSequence(depth));
      choices.push_back(choice);
    } while (cursor_.Take('|'));
    return grammar_.Choice(std::move(choices));
  }

  absl::StatusOr<ExprId> ReadSequence(int depth) {
    const bool searches = depth == 0 && options_.anywhere;
    bool from_beginning = false, to_end = false;
    while (depth == 0 && (cursor_.Take('^') || cursor_.Take("\\A"))) from_beginning = true;
    std::vector<ExprId> parts;
    while (!cursor_.AtEnd() && cursor_.Peek() != '|' && cursor_.Peek() != ')') {
      if (to_end) return Error("something after $, which is supported at the end of an alternative");
      if (depth == 0 && (cursor_.Take('$') || cursor_.Take("\\Z") || cursor_.Take("\\z"))) {
        to_end = true;
        continue;
      }
      ASSIGN_OR_RETURN(const ExprId atom, ReadAtom(depth));
      ASSIGN_OR_RETURN(const ExprId part, ReadQuantifiers(atom));
      parts.push_back(part);
    }
    if (searches && !from_beginning) parts.insert(parts.begin(), AnyText());
    if (searches && !to_end) parts.push_back(AnyText());
    return grammar_.Sequence(std::move(parts));
  }

  absl::StatusOr<ExprId> ReadAtom(int depth) {
    switch (cursor_.Peek()) {
      case '(':
        return ReadGroup(depth);
      case '[':
        return ReadClass();
      case '.':
        cursor_.Skip(1);
        return Spell(CharSet({{'\n', '\n'}}).Complement());
      case '^':
      case '$':
        return Error("{} is supported at the beginning (^) and the end ($) of the whole pattern only", cursor_.Peek());
      case '*':
      case '+':
      case '?':
        return Error("nothing to repeat before {}", cursor_.Peek());
      case '\\':
        return ReadEscape();
      default:
        break;
    }
    const std::optional<uint32_t> code = cursor_.TakeChar();
    if (!code) return Error("the pattern is not UTF-8");
    return Spell({{*code, *code}});
  }

  absl::StatusOr<ExprId> ReadGroup(int depth) {
    RETURN_IF_ERROR(RefuseSpecialGroups());
    const size_t begin = cursor_.offset();
    cursor_.Skip(1);
    if (cursor_.Take("?P<") || cursor_.Take("?<")) {
      while (!cursor_.AtEnd() && cursor_.Peek() != '>') cursor_.Skip(1);
      if (!cursor_.Take('>')) return Error("the name of a group has no end");
    } else {
      cursor_.Take("?:");
    }
    ASSIGN_OR_RETURN(const ExprId inside, ReadAlternatives(depth + 1));
    if (!cursor_.Take(')')) return InvalidArgument("at offset {}: the group has no end", begin);
    return inside;
  }

  absl::Status RefuseSpecialGroups() const {
    constexpr std::pair<std::string_view, std::string_view> kRefused[] = {
        {"(?=", "lookahead"},   {"(?!", "lookahead"},       {"(?<=", "lookbehind"},
        {"(?<!", "lookbehind"}, {"(?>", "an atomic group"}, {"(?P=", "a back-reference"},
        {"(?#", "a comment"},   {"(?(", "a condition"},     {"(?|", "a branch reset"},
        {"(?R", "a recursion"}, {"(?&", "a recursion"},     {"(?P>", "a recursion"},
        {"(*", "a verb"}};
    for (const auto& [spelling, name] : kRefused) {
      if (cursor_.At(spelling)) return Error("{} is not supported: {}", name, spelling);
    }
    if (cursor_.At("(?") && !cursor_.At("(?:") && !cursor_.At("(?<") && !cursor_.At("(?P<")) {
      return Error("flags are not supported: (?...)");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ExprId> ReadEscape() {
    if (cursor_.Ahead(1)) {
      const char letter = *cursor_.Ahead(1);
      if (const std::optional<CharSet> set = ClassOfLetter(static_cast<unsigned char>(letter))) {
        cursor_.Skip(2);
        return Spell(*set);
      }
      if (letter >= '1' && letter <= '9') return Error("back-references are not supported: \\{}", letter);
      if (std::string_view("bBAZzG").find(letter) != std::string_view::npos) {
        return Error("\\{} is not supported here: anchors stand at the ends of the whole pattern", letter);
      }
    }
    ASSIGN_OR_RETURN(const uint32_t code, ReadEscapedChar());
    return Spell({{code, code}});
  }

  // A backslash and what stands for one character.
  absl::StatusOr<uint32_t> ReadEscapedChar() {
    const size_t begin = cursor_.offset();
    cursor_.Skip(1);
    if (cursor_.AtEnd()) return Error("the pattern ends within an escape");
    const char letter = cursor_.Peek();
    constexpr std::pair<char, char> kLetters[] = {{'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'f', '\f'},
                                                  {'v', '\v'}, {'0', '\0'}, {'a', '\a'}, {'e', '\x1B'}};
    for (const auto& [name, value] : kLetters) {
      if (letter != name) continue;
      cursor_.Skip(1);
      return static_cast<uint32_t>(value);
    }
    const int digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    if (digits > 0) {
      cursor_.Skip(1);
      const bool braces = letter != 'U' && cursor_.Take('{');
      const std::optional<uint32_t> code = cursor_.TakeHex(braces ? 1 : digits, braces ? 8 : digits);
      if (!code || *code > kLastChar || IsSurrogate(*code) || (braces && !cursor_.Take('}'))) {
        return InvalidArgument("at offset {}: \\{} needs the hexadecimal digits of a character", begin, letter);
      }
      return *code;
    }
    const bool is_letter =
        (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9');
    if (is_letter) return InvalidArgument("at offset {}: \\{} is not supported", begin, letter);
    const std::optional<uint32_t> code = cursor_.TakeChar();
    if (!code) return Error("the pattern is not UTF-8");
    return *code;
  }

  absl::StatusOr<ExprId> ReadClass() {
    const size_t begin = cursor_.offset();
    cursor_.Skip(1);
    const bool negated = cursor_.Take('^');
    CharSet set;
    for (bool first = true; first || cursor_.AtEnd() || cursor_.Peek() != ']'; first = false) {
      if (cursor_.AtEnd()) return InvalidArgument("at offset {}: the class has no end", begin);
      if (cursor_.At("[:")) return Error("classes of the form [:name:] are not supported");
      RETURN_IF_ERROR(ReadClassItem(set));
    }
    cursor_.Skip(1);
    return Spell(negated ? set.Complement() : set);
  }

  absl::Status ReadClassItem(CharSet& set) {
    if (cursor_.Peek() == '\\' && cursor_.Ahead(1)) {
      if (const std::optional<CharSet> named = ClassOfLetter(static_cast<unsigned char>(*cursor_.Ahead(1)))) {
        cursor_.Skip(2);
        set.Add(*named);
        return absl::OkStatus();
      }
    }
    ASSIGN_OR_RETURN(const CharRange range, ReadRange(cursor_, [this] { return ReadClassChar(); }));
    if (range.last < range.first) return Error("a range of characters goes backwards");
    set.Add(range.first, range.last);
    return absl::OkStatus();
  }

  absl::StatusOr<uint32_t> ReadClassChar() {
    if (cursor_.At("\\b")) {  // a backspace within a class
      cursor_.Skip(2);
      return uint32_t{'\b'};
    }
    if (cursor_.Peek() == '\\') return ReadEscapedChar();
    const std::optional<uint32_t> code = cursor_.TakeChar();
    if (!code) return Error("the pattern is not UTF-8");
    return *code;
  }

  absl::StatusOr<ExprId> ReadQuantifiers(ExprId atom) {
    uint32_t least = 0, most = kUnbounded;
    if (cursor_.Take('*')) {
    } else if (cursor_.Take('+')) {
      least = 1;
    } else if (cursor_.Take('?')) {
      most = 1;
    } else {
      ASSIGN_OR_RETURN(const bool found, ReadBraces(least, most));
      if (!found) return atom;
    }
    cursor_.Take('?');  // lazy: the same texts
    if (cursor_.At("+")) return Error("possessive quantifiers are not supported");
    if (cursor_.At("*") || cursor_.At("?")) return Error("a quantifier follows a quantifier");
    return grammar_.Repeat(atom, least, most);
  }

  // {m}, {m,}, {,n} or {m,n}; false: a brace that is none of them stands for itself.
  absl::StatusOr<bool> ReadBraces(uint32_t& least, uint32_t& most) {
    if (!cursor_.At("{")) return false;
    const TextCursor before = cursor_;
    cursor_.Skip(1);
    const std::optional<uint32_t> low = cursor_.TakeNumber();
    const bool comma = cursor_.Take(',');
    const std::optional<uint32_t> high = comma ? cursor_.TakeNumber() : low;
    if ((!low && !high) || !cursor_.Take('}')) {
      cursor_ = before;
      return false;
    }
    least = low.value_or(0);
    most = high.value_or(kUnbounded);
    if (least > kMostRepetitions || (high && most > kMostRepetitions)) {
      return Error("more than {} repetitions", kMostRepetitions);
    }
    if (most < least) return Error("{} repetitions at least and {} at most", least, most);
    return true;
  }

  TextCursor cursor_;
  Grammar& grammar_;
  const RegexOptions& options_;
};

}  // namespace

absl::StatusOr<ExprId> ReadRegex(std::string_view pattern, Grammar& grammar, const RegexOptions& options) {
  return RegexReader(pattern, grammar, options).Read();
}

}  // namespace inferd::constraint
