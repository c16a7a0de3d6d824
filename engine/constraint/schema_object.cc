// Objects: properties in their order, each there or not, then the others.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "config/base/status.h"
#include "engine/constraint/regex.h"
#include "engine/constraint/schema_bounds.h"
#include "engine/constraint/schema_keywords.h"
#include "engine/constraint/schema_reader.h"

namespace inferd::constraint {
namespace {

constexpr size_t kMostProperties = 5000;
constexpr size_t kLongestName = 1024;
constexpr size_t kMostPatterns = 6;
constexpr size_t kMostCounted = 150;  // members of an object whose members are counted

bool IsFalse(const Conjunction& all) {
  return std::any_of(all.begin(), all.end(), [](const Atom& atom) {
    return atom.schema->is_bool() && atom.schema->get_bool() == atom.negated;
  });
}

void Append(Conjunction& all, const Conjunction& more) { all.insert(all.end(), more.begin(), more.end()); }

std::vector<std::string> NamesIn(const Shape& shape) {
  std::vector<std::string> names;
  std::set<std::string_view> seen;
  const auto add = [&](const std::string& name) {
    if (seen.insert(name).second) names.push_back(name);
  };
  for (const std::shared_ptr<const MemberRules>& rules : shape.members) {
    for (const auto& [name, schema] : rules->properties) add(name);
  }
  for (const std::string& name : shape.required) add(name);
  return names;
}

std::vector<std::string> PatternsIn(const Shape& shape, const SomeMember* some) {
  std::vector<std::string> patterns;
  const auto add = [&](const std::string& pattern) {
    if (std::find(patterns.begin(), patterns.end(), pattern) == patterns.end()) patterns.push_back(pattern);
  };
  const auto add_all = [&](const MemberRules& rules) {
    for (const auto& [pattern, schema] : rules.patterns) add(pattern);
  };
  for (const auto& rules : shape.members) add_all(*rules);
  if (some != nullptr && some->pattern) add(*some->pattern);
  if (some != nullptr && some->beyond != nullptr) add_all(*some->beyond);
  return patterns;
}

// What is said of a member whose name is no property and matches these of the patterns: a bit for each.
Conjunction ValueWhere(size_t matched, const std::vector<std::string>& patterns, const Shape& shape,
                       const SomeMember* some) {
  const auto matches = [&](const std::string& pattern) {
    const auto at = std::find(patterns.begin(), patterns.end(), pattern) - patterns.begin();
    return ((matched >> at) & 1) != 0;
  };
  Conjunction all;
  for (const auto& rules : shape.members) {
    bool known = false;
    for (const auto& [pattern, schema] : rules->patterns) {
      if (!matches(pattern)) continue;
      known = true;
      Append(all, schema);
    }
    if (!known) Append(all, rules->additional);
  }
  if (some == nullptr) return all;
  bool is_some = !some->pattern || matches(*some->pattern);
  if (some->beyond != nullptr) {
    for (const auto& [pattern, schema] : some->beyond->patterns) is_some &= !matches(pattern);
  }
  Append(all, is_some ? some->value : Never(some->place));
  return all;
}

}  // namespace

absl::StatusOr<Conjunction> SchemaReader::MemberNamed(const Shape& shape, std::string_view name) {
  Conjunction all;
  for (const std::shared_ptr<const MemberRules>& rules : shape.members) {
    bool known = false;
    for (const auto& [property, schema] : rules->properties) {
      if (property != name) continue;
      known = true;
      Append(all, schema);
    }
    for (const auto& [pattern, schema] : rules->patterns) {
      ASSIGN_OR_RETURN(const TextSet* set, PatternSet(pattern, /*anywhere=*/true, rules->place));
      if (!set->Has(name)) continue;
      known = true;
      Append(all, schema);
    }
    if (!known) Append(all, rules->additional);
  }
  const Json text(boost::json::string_view(name.data(), name.size()));
  ASSIGN_OR_RETURN(const bool may_be, AcceptsAll(text, shape.names));
  if (!may_be) Append(all, Never(shape.place));
  return all;
}

absl::StatusOr<ExprId> SchemaReader::ObjectOf(const Shape& shape) {
  if (!shape.some.empty()) return SomeOf(shape);
  ASSIGN_OR_RETURN(const std::vector<Member> members, Members(shape));
  const CountBounds count = shape.count;
  ASSIGN_OR_RETURN(const Extras extras, ExtrasOf(shape, NamesIn(shape), count.least > members.size()));
  const auto required = static_cast<uint32_t>(
      std::count_if(members.begin(), members.end(), [](const Member& member) { return member.required; }));
  if (count.least <= required && count.most >= members.size() && (!extras.any || count.most == kUnbounded)) {
    return WriteObject(members, extras);
  }
  return CountedObject(members, extras, count, shape.place);
}

// One member has such a value: one of those with a name of their own, or one beyond, which comes last so that no other
// of the same name replaces it.
absl::StatusOr<ExprId> SchemaReader::SomeOf(const Shape& shape) {
  RETURN_IF_ERROR(Spend(shape.place));
  Shape rest = shape;
  const SomeMember some = rest.some.back();
  rest.some.pop_back();
  std::vector<ExprId> choices;
  for (const std::string& name : NamesIn(shape)) {
    ASSIGN_OR_RETURN(const bool is_some, IsSome(name, some));
    if (!is_some) continue;
    Shape with = rest;
    MemberRules rules{.place = some.place};
    rules.properties.emplace_back(name, some.value);
    with.members.push_back(std::make_shared<const MemberRules>(std::move(rules)));
    if (std::find(with.required.begin(), with.required.end(), name) == with.required.end())
      with.required.push_back(name);
    ASSIGN_OR_RETURN(const Conjunction member, MemberNamed(with, name));
    if (IsFalse(member) || IsEmpty(member, 1)) continue;
    ASSIGN_OR_RETURN(const ExprId choice, ObjectOf(with));
    choices.push_back(choice);
  }
  const bool closed = options_.narrow && !choices.empty() &&
                      std::none_of(shape.members.begin(), shape.members.end(),
                                   [](const auto& rules) { return rules->has_additional || !rules->patterns.empty(); });
  if (closed) return grammar_.Choice(std::move(choices));
  if (!rest.some.empty() || rest.count.least > 0 || rest.count.most != kUnbounded) {
    bool extras_possible = true;
    ASSIGN_OR_RETURN(const auto cells, Cells(rest, NamesIn(shape), &some, /*open=*/true));
    extras_possible = !cells.empty();
    if (!extras_possible) return grammar_.Choice(std::move(choices));
    return InvalidArgument("at {}: members that must break several rules, or are counted too, are not supported",
                           some.place);
  }
  ASSIGN_OR_RETURN(const auto cells, Cells(rest, NamesIn(shape), &some, /*open=*/true));
  std::vector<ExprId> last;
  for (const auto& [key, value] : cells) {
    ASSIGN_OR_RETURN(const ExprId expr, Value(value));
    last.push_back(json_.Member(key, expr));
  }
  if (!last.empty()) {
    ASSIGN_OR_RETURN(const std::vector<Member> members, Members(rest));
    ASSIGN_OR_RETURN(Extras extras, ExtrasOf(rest, NamesIn(rest), /*needed=*/false));
    extras.last = grammar_.Named("member", grammar_.Choice(std::move(last)));
    choices.push_back(WriteObject(members, extras));
  }
  return grammar_.Choice(std::move(choices));
}

absl::StatusOr<std::vector<SchemaReader::Member>> SchemaReader::Members(const Shape& shape) {
  std::vector<Member> members;
  const std::set<std::string_view> required(shape.required.begin(), shape.required.end());
  for (const std::string& name : NamesIn(shape)) {
    RETURN_IF_ERROR(Spend(shape.place));
    if (members.size() >= kMostProperties) {
      return InvalidArgument("at {}: more than {} properties", shape.place, kMostProperties);
    }
    if (name.size() > kLongestName) {
      return InvalidArgument("at {}: a name of {} bytes, expected at most {}", shape.place, name.size(), kLongestName);
    }
    ASSIGN_OR_RETURN(const Conjunction all, MemberNamed(shape, name));
    const bool needed = required.contains(name);
    if (IsFalse(all) && !needed) continue;
    ASSIGN_OR_RETURN(const ExprId value, Value(all));
    const ExprId key = json_.Literal(Json(boost::json::string_view(name.data(), name.size())));
    members.push_back({.name = name, .pair = json_.Member(key, value), .required = needed});
  }
  return members;
}

// Names beyond these, by what is said of them: a set of names for each choice of patterns that match.
absl::StatusOr<std::vector<std::pair<ExprId, Conjunction>>> SchemaReader::Cells(const Shape& shape,
                                                                                const std::vector<std::string>& names,
                                                                                const SomeMember* some, bool open) {
  const std::vector<std::string> patterns = PatternsIn(shape, some);
  if (patterns.size() > kMostPatterns) {
    return InvalidArgument("at {}: more than {} patterns of names are not supported", shape.place, kMostPatterns);
  }
  std::vector<std::pair<ExprId, Conjunction>> cells;
  const auto value_of = [&](size_t matched) { return ValueWhere(matched, patterns, shape, some); };
  if (patterns.empty() && shape.names.empty()) {
    const Conjunction value = value_of(0);
    if (!open || IsFalse(value)) return cells;
    const std::vector<std::string_view> views(names.begin(), names.end());
    cells.emplace_back(views.empty() ? json_.AnyString() : grammar_.Named(shape.place, json_.StringBut(views)), value);
    return cells;
  }
  ASSIGN_OR_RETURN(const Shapes name_shapes, Expand(shape.names, kStringType));
  for (const Shape& name : name_shapes) {
    // A pattern or a length alone is written as it is.
    if (patterns.empty() && name.types != 0 && names.empty()) {
      const Conjunction value = value_of(0);
      if (!open || IsFalse(value)) continue;
      ASSIGN_OR_RETURN(const ExprId key, String(name));
      cells.emplace_back(key, value);
      continue;
    }
    Shape texts = name;
    TextTerm listed{.kind = TextTerm::Kind::kValues, .place = name.place};
    for (const Json& value : name.values) listed.values.emplace_back(View(value.get_string()));
    if (name.types == 0) texts.terms.push_back(std::move(listed));
    ASSIGN_OR_RETURN(TextSet left, TextsOf(texts));
    if (!names.empty()) {
      ASSIGN_OR_RETURN(const TextSet known, TextSet::Of(names));
      ASSIGN_OR_RETURN(left, left.Minus(known));
    }
    for (size_t matched = 0; matched < (size_t{1} << patterns.size()); ++matched) {
      const Conjunction value = value_of(matched);
      if ((matched == 0 && !open) || IsFalse(value)) continue;
      TextSet cell = left;
      for (size_t i = 0; i < patterns.size() && !cell.empty(); ++i) {
        ASSIGN_OR_RETURN(const TextSet* set, PatternSet(patterns[i], /*anywhere=*/true, shape.place));
        ASSIGN_OR_RETURN(cell, ((matched >> i) & 1) != 0 ? cell.Intersect(*set) : cell.Minus(*set));
        RETURN_IF_ERROR(Spend(shape.place, static_cast<int64_t>(cell.states())));
      }
      if (!cell.empty()) cells.emplace_back(grammar_.Named(shape.place, json_.Quoted(WriteTexts(cell))), value);
    }
  }
  return cells;
}

// `needed`: there are not enough properties, so that others must come.
absl::StatusOr<SchemaReader::Extras> SchemaReader::ExtrasOf(const Shape& shape, const std::vector<std::string>& names,
                                                            bool needed) {
  bool spoken = !shape.names.empty() && names.empty(), has_patterns = false;
  for (const auto& rules : shape.members) {
    spoken |= rules->has_additional;
    has_patterns |= !rules->patterns.empty();
  }
  const bool open = !options_.narrow || spoken || needed || (names.empty() && !has_patterns);
  if (!open && !has_patterns) return Extras();
  ASSIGN_OR_RETURN(const auto cells, Cells(shape, names, nullptr, open));
  std::vector<ExprId> choices;
  for (const auto& [key, value] : cells) {
    ASSIGN_OR_RETURN(const ExprId expr, Value(value));
    choices.push_back(json_.Member(key, expr));
  }
  if (choices.empty()) return Extras();
  return Extras{.any = grammar_.Choice(std::move(choices))};
}

// From the back: after(i) is what may follow a member once members i and later are left, first(i) the same before any
// member. Both are rules, so that the grammar grows with the members and not with their combinations.
ExprId SchemaReader::WriteObject(const std::vector<Member>& members, const Extras& extras) {
  ExprId after = grammar_.Empty(), first = grammar_.Empty();
  if (extras.any && extras.last) {
    const ExprId begin = grammar_.Star(grammar_.Sequence({*extras.any, json_.Comma()}));
    first = grammar_.Named("members", grammar_.Sequence({begin, *extras.last}));
    after = grammar_.Sequence({json_.Comma(), first});
  } else if (extras.any) {
    after = grammar_.Named("members", grammar_.Star(grammar_.Sequence({json_.Comma(), *extras.any})));
    first = grammar_.Optional(grammar_.Sequence({*extras.any, after}));
  } else if (extras.last) {
    first = *extras.last;
    after = grammar_.Sequence({json_.Comma(), *extras.last});
  }
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    const ExprId pair = grammar_.Named("member", member->pair);
    const ExprId begins = grammar_.Sequence({pair, after});
    const ExprId goes_on = grammar_.Sequence({json_.Comma(), pair, after});
    first = grammar_.Named("members", member->required ? begins : grammar_.Choice({begins, first}));
    after = grammar_.Named("members", member->required ? goes_on : grammar_.Choice({goes_on, after}));
  }
  return grammar_.Sequence({grammar_.Byte('{'), json_.Space(), first, json_.Space(), grammar_.Byte('}')});
}

// A rule for each member and each number of members before it.
absl::StatusOr<ExprId> SchemaReader::CountedObject(const std::vector<Member>& members, const Extras& extras,
                                                   CountBounds count, const std::string& place) {
  if (members.size() > kMostCounted) {
    return InvalidArgument("at {}: minProperties and maxProperties are not supported beside more than {} properties",
                           place, kMostCounted);
  }
  // A document may repeat a key, which then counts once.
  if (count.least > members.size() + (extras.any ? 1 : 0)) {
    return InvalidArgument("at {}: minProperties above the number of properties{} is not supported", place,
                           extras.any ? " and one" : "");
  }
  const size_t all = members.size();
  std::vector<ExprId> next(all + 1, grammar_.Nothing());  // by the number of members before
  for (size_t taken = 0; taken <= all; ++taken) {
    const uint32_t need = count.least > taken ? count.least - static_cast<uint32_t>(taken) : 0;
    if (taken > count.most || (need > 0 && !extras.any) || need > 1) continue;
    const uint32_t room = count.most == kUnbounded ? kUnbounded : count.most - static_cast<uint32_t>(taken);
    next[taken] = grammar_.Empty();
    if (!extras.any || room == 0) continue;
    if (taken > 0) {
      next[taken] = grammar_.Repeat(grammar_.Sequence({json_.Comma(), *extras.any}), need, room);
    } else {
      const ExprId more =
          grammar_.Repeat(grammar_.Sequence({json_.Comma(), *extras.any}), 0, room == kUnbounded ? room : room - 1);
      next[taken] = grammar_.Sequence({*extras.any, more});
      if (need == 0) next[taken] = grammar_.Optional(next[taken]);
    }
    next[taken] = grammar_.Named("members", next[taken]);
  }
  for (size_t i = all; i-- > 0;) {
    const ExprId pair = grammar_.Named("member", members[i].pair);
    std::vector<ExprId> here;
    for (size_t taken = 0; taken <= i; ++taken) {
      const ExprId with =
          taken == 0 ? grammar_.Sequence({pair, next[1]}) : grammar_.Sequence({json_.Comma(), pair, next[taken + 1]});
      here.push_back(grammar_.Named("members", members[i].required ? with : grammar_.Choice({with, next[taken]})));
    }
    next = std::move(here);
    next.resize(i + 1);
  }
  return grammar_.Sequence({grammar_.Byte('{'), json_.Space(), next[0], json_.Space(), grammar_.Byte('}')});
}

}  // namespace inferd::constraint
