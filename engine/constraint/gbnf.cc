#include "engine/constraint/gbnf.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "config/base/status.h"
#include "engine/constraint/text_cursor.h"

namespace inferd::constraint {
namespace {

constexpr uint32_t kMostRepetitions = 100'000;
constexpr int kDeepestGroup = 200;

bool IsNameByte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '-' ||
         byte == '_';
}

class GbnfReader {
 public:
  GbnfReader(std::string_view text, Grammar& grammar) : text_(text), cursor_(text), grammar_(grammar) {}

  absl::Status Read() {
    SkipSpace(/*lines=*/true);
    while (!cursor_.AtEnd()) RETURN_IF_ERROR(ReadRule());
    const auto root = rules_.find("root");
    if (root == rules_.end() || !root->second.defined) return InvalidArgument("there is no rule root");
    for (const auto& [name, rule] : rules_) {
      if (!rule.defined) return ErrorAt(rule.first_use, "rule {} is used and not defined", name);
    }
    grammar_.set_root(root->second.id);
    return absl::OkStatus();
  }

 private:
  struct Rule {
    RuleId id = -1;
    bool defined = false;
    size_t first_use = 0;
  };

  template <typename... Args>
  absl::Status ErrorAt(size_t offset, fmt::format_string<Args...> format, Args&&... args) const {
    const std::string_view before = text_.substr(0, offset);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t begin = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
    return InvalidArgument("line {}, column {}: {}", line, before.size() - begin + 1,
                           fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  absl::Status Error(fmt::format_string<Args...> format, Args&&... args) const {
    return ErrorAt(cursor_.offset(), format, std::forward<Args>(args)...);
  }

  // Spaces and comments; with `lines`, the ends of lines too.
  void SkipSpace(bool lines) {
    while (!cursor_.AtEnd()) {
      const char byte = cursor_.Peek();
      if (byte == '#') {
        while (!cursor_.AtEnd() && cursor_.Peek() != '\n' && cursor_.Peek() != '\r') cursor_.Skip(1);
      } else if (byte == ' ' || byte == '\t' || (lines && (byte == '\n' || byte == '\r'))) {
        cursor_.Skip(1);
      } else {
        return;
      }
    }
  }

  std::string TakeName() {
    std::string name;
    for (; !cursor_.AtEnd() && IsNameByte(cursor_.Peek()); cursor_.Skip(1)) name += cursor_.Peek();
    return name;
  }

  Rule& RuleOf(const std::string& name, size_t offset) {
    const auto [found, is_new] = rules_.try_emplace(name);
    if (is_new) found->second = {.id = grammar_.AddRule(name), .first_use = offset};
    return found->second;
  }

  absl::Status ReadRule() {
    const size_t begin = cursor_.offset();
    const std::string name = TakeName();
    if (name.empty()) return Error("expected the name of a rule");
    SkipSpace(/*lines=*/false);
    if (!cursor_.Take("::=")) return Error("expected ::= after the name {}", name);
    if (RuleOf(name, begin).defined) return ErrorAt(begin, "rule {} is defined twice", name);
    RuleOf(name, begin).defined = true;
    SkipSpace(/*lines=*/true);
    ASSIGN_OR_RETURN(const ExprId body, ReadChoices(/*depth=*/0));
    grammar_.Define(RuleOf(name, begin).id, body);
    if (!cursor_.AtEnd() && cursor_.Peek() != '\n' && cursor_.Peek() != '\r') {
      return Error("unexpected {}", Shown());
    }
    SkipSpace(/*lines=*/true);
    return absl::OkStatus();
  }

  std::string Shown() const {
    const char byte = cursor_.Peek();
    return byte >= ' ' && byte < 127 ? fmt::format("'{}'", byte)
                                     : fmt::format("byte {}", static_cast<unsigned char>(byte));
  }

  absl::StatusOr<ExprId> ReadChoices(int depth) {
    if (depth > kDeepestGroup) return Error("more than {} groups within each other", kDeepestGroup);
    std::vector<ExprId> choices;
    while (true) {
      ASSIGN_OR_RETURN(const ExprId choice, ReadSequence(depth));
      choices.push_back(choice);
      if (!TakeBar(depth)) return grammar_.Choice(std::move(choices));
      SkipSpace(/*lines=*/true);
    }
  }

  // A bar may begin a line, too.
  bool TakeBar(int depth) {
    if (cursor_.Take('|')) return true;
    if (depth > 0) return false;
    const TextCursor before = cursor_;
    SkipSpace(/*lines=*/true);
    if (cursor_.Take('|')) return true;
    cursor_ = before;
    return false;
  }

  absl::StatusOr<ExprId> ReadSequence(int depth) {
    std::vector<ExprId> parts;
    while (!cursor_.AtEnd()) {
      const char byte = cursor_.Peek();
      if (byte == '|' || byte == ')' || byte == '\n' || byte == '\r') break;
      ASSIGN_OR_RETURN(const ExprId atom, ReadAtom(depth));
      ASSIGN_OR_RETURN(const ExprId part, ReadRepetitions(atom, depth));
      parts.push_back(part);
    }
    return grammar_.Sequence(std::move(parts));
  }

  absl::StatusOr<ExprId> ReadAtom(int depth) {
    const size_t begin = cursor_.offset();
    if (cursor_.Take('"')) return ReadLiteral(begin);
    if (cursor_.Take('[')) return ReadClass(begin);
    if (cursor_.Take('.')) return grammar_.Chars(CharSet::Any());
    if (cursor_.Take('(')) {
      SkipSpace(/*lines=*/true);
      ASSIGN_OR_RETURN(const ExprId inside, ReadChoices(depth + 1));
      if (!cursor_.Take(')')) return ErrorAt(begin, "the group has no end");
      return inside;
    }
    if (cursor_.At("<") || cursor_.At("!<")) return Error("tokens in angle brackets are not supported");
    const std::string name = TakeName();
    if (name.empty()) return Error("unexpected {}", Shown());
    return grammar_.Call(RuleOf(name, begin).id);
  }

  absl::StatusOr<ExprId> ReadLiteral(size_t begin) {
    std::string text;
    while (!cursor_.Take('"')) {
      if (cursor_.AtEnd() || cursor_.Peek() == '\n') return ErrorAt(begin, "the literal has no end");
      ASSIGN_OR_RETURN(const uint32_t code, ReadChar());
      AppendUtf8(code, text);
    }
    return grammar_.Literal(text);
  }

  absl::StatusOr<ExprId> ReadClass(size_t begin) {
    const bool negated = cursor_.Take('^');
    CharSet set;
    while (!cursor_.Take(']')) {
      if (cursor_.AtEnd()) return ErrorAt(begin, "the class has no end");
      ASSIGN_OR_RETURN(const CharRange range, ReadRange(cursor_, [this] { return ReadChar(); }));
      if (range.last < range.first) return Error("a range of characters goes backwards");
      set.Add(range.first, range.last);
    }
    return grammar_.Chars(negated ? set.Complement() : set);
  }

  // A character, or an escape of one.
  absl::StatusOr<uint32_t> ReadChar() {
    const size_t begin = cursor_.offset();
    if (cursor_.Take('\\')) {
      if (cursor_.AtEnd()) return ErrorAt(begin, "the grammar ends within an escape");
      const char letter = cursor_.Peek();
      cursor_.Skip(1);
      constexpr std::pair<char, char> kLetters[] = {{'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'\\', '\\'}, {'"', '"'},
                                                    {'[', '['},  {']', ']'},  {'-', '-'},  {'^', '^'}};
      for (const auto& [name, value] : kLetters) {
        if (letter == name) return static_cast<uint32_t>(value);
      }
      const int digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
      const std::optional<uint32_t> code = digits > 0 ? cursor_.TakeHex(digits, digits) : std::nullopt;
      if (!code || *code > kLastChar || IsSurrogate(*code)) {
        return ErrorAt(begin, "an escape that is none of \\n \\r \\t \\\\ \\\" \\[ \\] \\xHH \\uHHHH \\UHHHHHHHH");
      }
      return *code;
    }
    const std::optional<uint32_t> code = cursor_.TakeChar();
    if (!code) return Error("the grammar is not UTF-8");
    return *code;
  }

  absl::StatusOr<ExprId> ReadRepetitions(ExprId atom, int depth) {
    for (int row = 1;; ++row) {
      SkipSpace(/*lines=*/depth > 0);
      uint32_t least = 0, most = kUnbounded;
      if (cursor_.Take('*')) {
      } else if (cursor_.Take('+')) {
        least = 1;
      } else if (cursor_.Take('?')) {
        most = 1;
      } else if (cursor_.At("{")) {
        RETURN_IF_ERROR(ReadBraces(least, most));
      } else {
        return atom;
      }
      if (row > kDeepestGroup) return Error("more than {} repetitions of each other", kDeepestGroup);
      atom = grammar_.Repeat(atom, least, most);
    }
  }

  absl::Status ReadBraces(uint32_t& least, uint32_t& most) {
    const size_t begin = cursor_.offset();
    cursor_.Skip(1);
    SkipSpace(/*lines=*/false);
    const std::optional<uint32_t> low = cursor_.TakeNumber();
    SkipSpace(/*lines=*/false);
    const bool comma = cursor_.Take(',');
    SkipSpace(/*lines=*/false);
    const std::optional<uint32_t> high = comma ? cursor_.TakeNumber() : low;
    SkipSpace(/*lines=*/false);
    if ((!low && !high) || !cursor_.Take('}')) return ErrorAt(begin, "expected {{m}}, {{m,}} or {{m,n}}");
    least = low.value_or(0);
    most = high.value_or(kUnbounded);
    if (least > kMostRepetitions || (high && most > kMostRepetitions)) {
      return ErrorAt(begin, "more than {} repetitions", kMostRepetitions);
    }
    if (most < least) return ErrorAt(begin, "{} repetitions at least and {} at most", least, most);
    return absl::OkStatus();
  }

  const std::string_view text_;
  TextCursor cursor_;
  Grammar& grammar_;
  std::map<std::string, Rule> rules_;
};

}  // namespace

absl::Status ReadGbnf(std::string_view text, Grammar& grammar) { return GbnfReader(text, grammar).Read(); }

}  // namespace inferd::constraint
