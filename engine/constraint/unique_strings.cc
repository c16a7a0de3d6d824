#include "engine/constraint/unique_strings.h"

#include <algorithm>
#include <vector>

namespace inferd::constraint {
namespace {

// Kinds of the first character: all that are no letters, then the letters. The second may also be the end.
constexpr size_t kFirsts = 27, kSeconds = 28;

class Writer {
 public:
  Writer(CountBounds count, JsonGrammar& json, Grammar& grammar) : count_(count), json_(json), grammar_(grammar) {
    if (count_.most != kUnbounded) count_.most = std::min(count_.most, kMostUniqueStrings);
    CharSet others = PlainStringChars();
    firsts_.push_back(0);
    for (uint32_t letter = 0; letter < 26; ++letter) {
      const CharSet both = {{'a' + letter, 'a' + letter}, {'A' + letter, 'A' + letter}};
      others = others.Minus(both);
      firsts_.push_back(grammar_.Chars(both));
    }
    firsts_[0] = grammar_.Chars(others);
    rest_ = grammar_.Named("string", grammar_.Sequence({grammar_.Star(grammar_.Chars(PlainStringChars())), Quote()}));
  }

  ExprId Write() {
    const uint32_t levels = (count_.most == kUnbounded ? std::max(count_.least, 1u) : count_.most) + 1;
    // From the last level, of lists that are as long as is counted, to the empty list.
    std::vector<RuleId> after = AddRules();
    const bool repeats = count_.most == kUnbounded;
    DefineLevel(levels - 1, after, repeats ? after : std::vector<RuleId>());
    for (uint32_t level = levels - 1; level-- > 1;) {
      const std::vector<RuleId> next = std::move(after);
      after = AddRules();
      DefineLevel(level, after, next);
    }
    ExprId all = grammar_.Sequence({Quote(), FirstFrom(0, after)});
    if (count_.least == 0) all = grammar_.Optional(all);
    return grammar_.Sequence({grammar_.Byte('['), json_.Space(), all, json_.Space(), grammar_.Byte(']')});
  }

 private:
  ExprId Quote() { return grammar_.Byte('"'); }
  std::vector<RuleId> AddRules() {
    std::vector<RuleId> rules;
    for (size_t i = 0; i < kFirsts * kSeconds; ++i) rules.push_back(grammar_.AddRule("strings"));
    return rules;
  }

  // A string that begins with the kind `first` and goes on with `second` or a later kind, and what follows it.
  std::vector<ExprId> SecondsFrom(size_t first, const std::vector<RuleId>& after) {
    std::vector<ExprId> from(kSeconds + 1, grammar_.Nothing());
    for (size_t second = kSeconds; second-- > 0;) {
      const ExprId rest = grammar_.Call(after[first * kSeconds + second]);
      const ExprId one =
          second == 0 ? grammar_.Sequence({Quote(), rest}) : grammar_.Sequence({firsts_[second - 1], rest_, rest});
      from[second] = grammar_.Named("string", grammar_.Choice({one, from[second + 1]}));
    }
    return from;
  }

  ExprId FirstFrom(size_t first, const std::vector<RuleId>& after) {
    ExprId all = grammar_.Nothing();
    for (size_t i = kFirsts; i-- > first;) {
      all = grammar_.Choice({grammar_.Sequence({firsts_[i], SecondsFrom(i, after)[0]}), all});
    }
    return all;
  }

  // What may follow so many strings, the last of which is of these kinds. No `next`: the list is full.
  void DefineLevel(uint32_t level, const std::vector<RuleId>& rules, const std::vector<RuleId>& next) {
    const ExprId end = level >= count_.least ? grammar_.Empty() : grammar_.Nothing();
    std::vector<ExprId> later(kFirsts + 1, grammar_.Nothing());
    for (size_t first = kFirsts; first-- > 0;) {
      if (next.empty()) {
        for (size_t second = 0; second < kSeconds; ++second) grammar_.Define(rules[first * kSeconds + second], end);
        continue;
      }
      const std::vector<ExprId> seconds = SecondsFrom(first, next);
      for (size_t second = 0; second < kSeconds; ++second) {
        const ExprId same = grammar_.Sequence({firsts_[first], seconds[second + 1]});
        const ExprId more = grammar_.Sequence({json_.Comma(), Quote(), grammar_.Choice({same, later[first + 1]})});
        grammar_.Define(rules[first * kSeconds + second], grammar_.Choice({end, more}));
      }
      later[first] = grammar_.Named(
          "strings", grammar_.Choice({grammar_.Sequence({firsts_[first], seconds[0]}), later[first + 1]}));
    }
  }

  CountBounds count_;
  JsonGrammar& json_;
  Grammar& grammar_;
  std::vector<ExprId> firsts_;
  ExprId rest_;
};

}  // namespace

ExprId WriteUniqueStrings(CountBounds count, JsonGrammar& json, Grammar& grammar) {
  return Writer(count, json, grammar).Write();
}

}  // namespace inferd::constraint
