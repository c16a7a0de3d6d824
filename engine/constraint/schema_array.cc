// Arrays. Where only the places of elements matter, they are a list; `contains` counts, and `uniqueItems` remembers.
#include <algorithm>
#include <functional>
#include <map>

#include "config/base/status.h"
#include "engine/constraint/schema_keywords.h"
#include "engine/constraint/schema_reader.h"
#include "engine/constraint/unique_strings.h"

namespace inferd::constraint {
namespace {

constexpr size_t kMostStates = 2000;   // of arrays that are counted
constexpr size_t kMostInAnyOrder = 8;  // values of unique elements; more come in the order of the list
constexpr size_t kMostUnique = 400;
constexpr size_t kMostContains = 3;

uint32_t Less(uint32_t bound, size_t taken) {
  return bound == kUnbounded ? bound : bound > taken ? bound - static_cast<uint32_t>(taken) : 0;
}

// What an element must satisfy that counts for the `claimed` rules, and the counts after it; false: it cannot.
bool Claim(const std::vector<ContainsRule>& contains, size_t claimed, size_t index, std::vector<uint32_t>& counts,
           Conjunction& element) {
  for (size_t i = 0; i < contains.size(); ++i) {
    const ContainsRule& rule = contains[i];
    const bool claims = ((claimed >> i) & 1) != 0, bounded = rule.count.most != kUnbounded;
    if (index < rule.from) {
      if (claims) return false;
      continue;
    }
    if (claims) {
      if (bounded && counts[i] >= rule.count.most) return false;
      counts[i] = bounded ? counts[i] + 1 : std::min(counts[i] + 1, rule.count.least);
    }
    if (!claims && !bounded) continue;
    for (Atom atom : rule.schema) {
      atom.negated ^= !claims;
      element.push_back(std::move(atom));
    }
  }
  return true;
}

}  // namespace

Conjunction SchemaReader::ElementAt(const Shape& shape, size_t index) const {
  Conjunction all;
  for (const std::shared_ptr<const ElementRules>& rules : shape.elements) {
    const Conjunction& one = index < rules->prefix.size() ? rules->prefix[index] : rules->rest;
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

absl::StatusOr<ExprId> SchemaReader::Array(const Shape& shape) {
  CountBounds count = shape.count;
  size_t prefix = 0;
  bool open = true;
  for (const std::shared_ptr<const ElementRules>& rules : shape.elements) {
    prefix = std::max(prefix, rules->prefix.size());
    open &= rules->open;
  }
  // Without a word on the others, a tuple ends with its last.
  const bool closes = options_.narrow && !open && count.least <= prefix && shape.contains.empty();
  if (closes) count.most = std::min<uint32_t>(count.most, static_cast<uint32_t>(prefix));
  if (shape.unique && count.most > 1) {
    if (!shape.contains.empty()) {
      return InvalidArgument("at {}: uniqueItems beside contains is not supported", shape.place);
    }
    return UniqueArray(shape, prefix, count);
  }
  return shape.contains.empty() ? PlainArray(shape, prefix, count) : CountedArray(shape, prefix, count);
}

absl::StatusOr<ExprId> SchemaReader::PlainArray(const Shape& shape, size_t prefix, CountBounds count) {
  std::vector<ExprId> first;
  for (size_t i = 0; i < std::min<size_t>(prefix, count.most); ++i) {
    ASSIGN_OR_RETURN(const ExprId expr, Value(ElementAt(shape, i)));
    first.push_back(expr);
  }
  ExprId item = grammar_.Nothing();
  if (count.most > prefix) {
    ASSIGN_OR_RETURN(item, Value(ElementAt(shape, prefix)));
  }
  if (first.empty()) return json_.List("[", item, count.least, count.most, "]");
  // From the back: what may follow the i-th element.
  const size_t places = first.size();
  ExprId rest =
      grammar_.Repeat(grammar_.Sequence({json_.Comma(), item}), Less(count.least, places), Less(count.most, places));
  for (size_t i = places; i-- > 0;) {
    const ExprId one = i == 0 ? first[i] : grammar_.Sequence({json_.Comma(), first[i]});
    const ExprId more = grammar_.Sequence({one, rest});
    rest = i < count.least ? more : grammar_.Optional(more);
  }
  return grammar_.Sequence({grammar_.Byte('['), json_.Space(), rest, json_.Space(), grammar_.Byte(']')});
}

// A rule for each index and each count of elements that satisfy a rule. An element need not be counted where only a
// least count is asked for.
absl::StatusOr<ExprId> SchemaReader::CountedArray(const Shape& shape, size_t prefix, CountBounds count) {
  const std::vector<ContainsRule>& contains = shape.contains;
  if (contains.size() > kMostContains) {
    return InvalidArgument("at {}: contains more than {} times for one array is not supported", shape.place,
                           kMostContains);
  }
  size_t last = std::max<size_t>(prefix, 1);  // indexes beyond are alike
  for (const ContainsRule& rule : contains) last = std::max(last, rule.from);
  last = std::max<size_t>(last, count.most == kUnbounded ? count.least : count.most);
  using State = std::pair<size_t, std::vector<uint32_t>>;
  std::map<State, RuleId> rules;
  std::vector<State> work;
  const auto rule_of = [&](const State& state) {
    const auto [found, is_new] = rules.try_emplace(state, -1);
    if (is_new) {
      found->second = grammar_.AddRule("elements");
      work.push_back(state);
    }
    return grammar_.Call(found->second);
  };
  const ExprId start = rule_of({0, std::vector<uint32_t>(contains.size())});
  while (!work.empty()) {
    const State state = work.back();
    work.pop_back();
    const auto& [index, counts] = state;
    if (rules.size() > kMostStates) {
      return InvalidArgument("at {}: contains with such counts is too large", contains[0].place);
    }
    std::vector<ExprId> choices;
    bool done = index >= count.least;
    for (size_t i = 0; i < contains.size(); ++i) done &= counts[i] >= contains[i].count.least;
    if (done) choices.push_back(grammar_.Empty());
    const bool full = count.most != kUnbounded && index >= count.most;
    for (size_t claimed = 0; claimed < (size_t{1} << contains.size()) && !full; ++claimed) {
      Conjunction element = ElementAt(shape, index);
      State next{std::min(index + 1, last), counts};
      if (!Claim(contains, claimed, index, next.second, element)) continue;
      ASSIGN_OR_RETURN(const ExprId one, Value(element));
      const ExprId rest = rule_of(next);
      choices.push_back(index == 0 ? grammar_.Sequence({one, rest}) : grammar_.Sequence({json_.Comma(), one, rest}));
    }
    grammar_.Define(rules.at(state), grammar_.Choice(std::move(choices)));
  }
  return grammar_.Sequence({grammar_.Byte('['), json_.Space(), start, json_.Space(), grammar_.Byte(']')});
}

absl::StatusOr<ExprId> SchemaReader::UniqueArray(const Shape& shape, size_t prefix, CountBounds count) {
  const auto refused = [&](const char* why) {
    return InvalidArgument("at {}: uniqueItems is supported of strings and of elements of few values: {}", shape.place,
                           why);
  };
  if (prefix > 0) return refused("these have different schemas");
  ASSIGN_OR_RETURN(const Shapes elements, Expand(ElementAt(shape, 0)));
  std::map<std::string, Json> values;
  for (const Shape& element : elements) {
    if (element.types == kStringType && elements.size() == 1 && element.terms.empty() && element.count.least <= 1 &&
        element.count.most == kUnbounded) {
      if (count.least > kMostUniqueStrings) return refused("minItems is too large");
      return WriteUniqueStrings(count, json_, grammar_);
    }
    std::vector<Json> some = element.values;
    if (element.types == kBooleanType) some = {Json(true), Json(false)};
    if (element.types == kNullType) some = {Json()};
    const NumberLimits& limits = element.number.limits;
    if (element.types == kNumberType && element.number.integer && limits.least && limits.most &&
        *limits.most - *limits.least < static_cast<long double>(kMostUnique) && std::abs(*limits.least) < 1e15L) {
      for (auto number = static_cast<int64_t>(*limits.least); number <= static_cast<int64_t>(*limits.most); ++number) {
        if (Satisfies(static_cast<long double>(number), element.number)) some.emplace_back(number);
      }
    } else if (element.types != 0 && element.types != kBooleanType && element.types != kNullType) {
      return refused("these have too many");
    }
    for (const Json& value : some) values.try_emplace(CanonicalText(value), value);
  }
  if (values.size() > kMostUnique) return refused("these have too many");
  std::vector<ExprId> texts;
  for (const auto& [text, value] : values) texts.push_back(json_.Literal(value));
  const size_t all = texts.size();
  if (count.least > all) return grammar_.Nothing();
  const bool any_order = all <= kMostInAnyOrder;
  if (!any_order && all * std::min<size_t>(count.most, all) > 20 * kMostStates) return refused("these have too many");
  // What is still possible: a set of values, or those from one on; and how many have come.
  std::map<std::pair<uint64_t, uint32_t>, RuleId> rules;
  const std::function<ExprId(uint64_t, uint32_t)> after = [&](uint64_t left, uint32_t taken) -> ExprId {
    taken = count.most == kUnbounded || count.most >= all ? std::min(taken, std::max(count.least, 1u)) : taken;
    const auto [found, is_new] = rules.try_emplace({left, taken}, -1);
    if (!is_new) return grammar_.Call(found->second);
    const RuleId rule = found->second = grammar_.AddRule("elements");
    std::vector<ExprId> choices;
    if (taken >= count.least) choices.push_back(grammar_.Empty());
    const auto add = [&](size_t i, uint64_t rest) {
      const ExprId more = after(rest, taken + 1);
      choices.push_back(taken == 0 ? grammar_.Sequence({texts[i], more})
                                   : grammar_.Sequence({json_.Comma(), texts[i], more}));
    };
    for (size_t i = 0; i < all && taken < count.most; ++i) {
      if (any_order && ((left >> i) & 1) != 0) add(i, left & ~(uint64_t{1} << i));
      if (!any_order && i >= left) add(i, i + 1);
    }
    grammar_.Define(rule, grammar_.Choice(std::move(choices)));
    return grammar_.Call(rule);
  };
  const ExprId list = after(any_order ? (uint64_t{1} << all) - 1 : 0, 0);
  return grammar_.Sequence({grammar_.Byte('['), json_.Space(), list, json_.Space(), grammar_.Byte(']')});
}

}  // namespace inferd::constraint
