// Strings: a pattern alone is written as it is; where several keywords speak of a string, the texts that satisfy all.
#include <algorithm>

#include "config/base/status.h"
#include "engine/constraint/regex.h"
#include "engine/constraint/schema_reader.h"
#include "engine/constraint/string_format.h"

namespace inferd::constraint {
namespace {

constexpr size_t kMostMinimized = 1000;  // states; more are written as they are

// Characters of a text that the expression, which calls no rule, matches.
CountBounds LengthOf(const Grammar& grammar, ExprId id) {
  const Grammar::Expr& expr = grammar.exprs()[static_cast<size_t>(id)];
  const auto sum = [](uint64_t a, uint64_t b) { return static_cast<uint32_t>(std::min<uint64_t>(a + b, kUnbounded)); };
  const auto times = [](uint64_t a, uint64_t b) {
    return static_cast<uint32_t>(std::min<uint64_t>(a * b, kUnbounded));
  };
  switch (expr.kind) {
    case Grammar::Kind::kBytes: {
      const ByteSet& set = grammar.sets()[static_cast<size_t>(expr.what)];
      bool begins = false;
      for (size_t byte = 0; byte < 256; ++byte) begins |= set.test(byte) && (byte & 0xC0) != 0x80;
      return {begins ? 1u : 0u, begins ? 1u : 0u};
    }
    case Grammar::Kind::kSequence: {
      CountBounds all{0, 0};
      for (ExprId part : expr.parts) {
        const CountBounds one = LengthOf(grammar, part);
        all = {sum(all.least, one.least), sum(all.most, one.most)};
      }
      return all;
    }
    case Grammar::Kind::kChoice: {
      CountBounds all{kUnbounded, 0};
      for (ExprId part : expr.parts) {
        const CountBounds one = LengthOf(grammar, part);
        all = {std::min(all.least, one.least), std::max(all.most, one.most)};
      }
      return all;
    }
    case Grammar::Kind::kRepeat: {
      const CountBounds one = LengthOf(grammar, expr.parts[0]);
      return {times(one.least, expr.least), one.most == 0 ? 0 : times(one.most, expr.most)};
    }
    default:
      return {0, 0};
  }
}

}  // namespace

absl::StatusOr<const TextSet*> SchemaReader::PatternSet(std::string_view pattern, bool anywhere,
                                                        const std::string& place) {
  std::string key = (anywhere ? "a" : "w") + std::string(pattern);
  if (const auto found = pattern_sets_.find(key); found != pattern_sets_.end()) return &found->second;
  Grammar grammar;
  const absl::StatusOr<ExprId> expr = ReadRegex(pattern, grammar, {.anywhere = anywhere});
  if (!expr.ok()) return InvalidArgument("at {}: pattern {}", place, MessageOf(expr.status()));
  grammar.set_root(grammar.AddRule("pattern"));
  grammar.Define(grammar.root(), *expr);
  absl::StatusOr<TextSet> set = TextSet::Of(grammar);
  if (!set.ok()) return InvalidArgument("at {}: pattern {}", place, MessageOf(set.status()));
  RETURN_IF_ERROR(Spend(place, static_cast<int64_t>(set->states())));
  return &pattern_sets_.emplace(std::move(key), *std::move(set)).first->second;
}

absl::StatusOr<TextSet> SchemaReader::TermSet(const TextTerm& term) {
  if (term.kind == TextTerm::Kind::kValues) return TextSet::Of(term.values);
  const bool is_pattern = term.kind == TextTerm::Kind::kPattern;
  ASSIGN_OR_RETURN(const TextSet* set,
                   PatternSet(is_pattern ? term.text : *PatternOfFormat(term.text), is_pattern, term.place));
  return *set;
}

absl::StatusOr<TextSet> SchemaReader::TextsOf(const Shape& shape) {
  std::optional<TextSet> texts;
  for (bool negated : {false, true}) {
    for (const TextTerm& term : shape.terms) {
      const bool unknown = term.kind == TextTerm::Kind::kFormat && !PatternOfFormat(term.text);
      if (term.negated != negated || unknown) continue;
      ASSIGN_OR_RETURN(const TextSet set, TermSet(term));
      if (!negated && !texts) {
        texts = set;
        continue;
      }
      if (!texts) texts = TextSet::Any();
      absl::StatusOr<TextSet> both = negated ? texts->Minus(set) : texts->Intersect(set);
      if (!both.ok()) return InvalidArgument("at {}: pattern {}", term.place, MessageOf(both.status()));
      RETURN_IF_ERROR(Spend(term.place, static_cast<int64_t>(both->states())));
      texts = *std::move(both);
    }
  }
  if (!texts) texts = TextSet::Any();
  absl::StatusOr<TextSet> set = texts->WithLength(shape.count.least, shape.count.most);
  if (!set.ok()) return InvalidArgument("at {}: minLength beside a pattern {}", shape.place, MessageOf(set.status()));
  RETURN_IF_ERROR(Spend(shape.place, static_cast<int64_t>(set->states())));
  return set;
}

ExprId SchemaReader::WriteTexts(const TextSet& texts) {
  ByteSet plain;
  for (size_t byte = 0x20; byte < 256; ++byte) plain.set(byte, byte != '"' && byte != '\\');
  const bool is_small = texts.states() <= kMostMinimized;
  return (is_small ? texts.Minimal() : texts).Write(grammar_, [&](const ByteSet& bytes) {
    std::vector<ExprId> choices;
    if ((bytes & plain).any()) choices.push_back(grammar_.Bytes(bytes & plain));
    CharSet escaped;
    for (uint32_t byte = 0; byte < 128; ++byte) {
      if (bytes.test(byte) && !plain.test(byte)) escaped.Add(byte, byte);
    }
    if (!escaped.empty()) choices.push_back(json_.Spell(escaped));
    return grammar_.Choice(std::move(choices));
  });
}

absl::StatusOr<ExprId> SchemaReader::String(const Shape& shape) {
  std::vector<TextTerm> terms;
  for (const TextTerm& term : shape.terms) {
    if (term.kind != TextTerm::Kind::kFormat || PatternOfFormat(term.text)) {
      terms.push_back(term);
    } else {
      Warn(term.place, fmt::format("format {} is not known and was ignored", term.text.substr(0, 64)));
    }
  }
  const bool any_length = shape.count.least == 0 && shape.count.most == kUnbounded;
  if (terms.empty()) {
    if (any_length) return json_.AnyString();
    return grammar_.Named(shape.place,
                          json_.Quoted(grammar_.Repeat(json_.StringChar(), shape.count.least, shape.count.most)));
  }
  if (terms.size() == 1 && !terms[0].negated && terms[0].kind != TextTerm::Kind::kValues) {
    const bool is_pattern = terms[0].kind == TextTerm::Kind::kPattern;
    const std::string_view regex = is_pattern ? terms[0].text : *PatternOfFormat(terms[0].text);
    const auto failed = [&](const absl::Status& status) {
      return InvalidArgument("at {}: {} {}", terms[0].place, is_pattern ? "pattern" : "format", MessageOf(status));
    };
    bool fits = any_length;
    if (!any_length) {
      Grammar plain;
      const absl::StatusOr<ExprId> expr = ReadRegex(regex, plain, {.anywhere = is_pattern});
      if (!expr.ok()) return failed(expr.status());
      const CountBounds length = plain.too_large() ? CountBounds{} : LengthOf(plain, *expr);
      fits = length.least >= shape.count.least && length.most <= shape.count.most;
    }
    if (fits) {
      const absl::StatusOr<ExprId> expr = ReadRegex(
          regex, grammar_, {.spell = [this](const CharSet& set) { return json_.Spell(set); }, .anywhere = is_pattern});
      if (!expr.ok()) return failed(expr.status());
      return grammar_.Named(shape.place, json_.Quoted(*expr));
    }
  }
  ASSIGN_OR_RETURN(const TextSet texts, TextsOf(shape));
  return json_.Quoted(WriteTexts(texts));
}

}  // namespace inferd::constraint
