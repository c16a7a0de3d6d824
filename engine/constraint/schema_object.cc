// Objects: properties in their order, each there or not, then the others.
#include <algorithm>
#include <boost/json/array.hpp>
#include <set>
#include <utility>

#include "config/base/status.h"
#include "engine/constraint/machine.h"
#include "engine/constraint/regex.h"
#include "engine/constraint/schema_reader.h"

namespace inferd::constraint {
namespace {

namespace json = boost::json;

constexpr size_t kMostProperties = 5000;
constexpr size_t kLongestName = 1024;

// A machine that accepts the names that contain a match of the pattern.
absl::StatusOr<Machine> MachineOf(std::string_view pattern) {
  Grammar grammar;
  ASSIGN_OR_RETURN(const ExprId expr, ReadRegex(pattern, grammar, {.anywhere = true}));
  const RuleId root = grammar.AddRule("pattern");
  grammar.Define(root, expr);
  grammar.set_root(root);
  ASSIGN_OR_RETURN(std::shared_ptr<const Program> program, Program::Create(grammar));
  return Machine(std::move(program));
}

bool Matches(Machine& machine, std::string_view name) {
  Machine::StateId state = machine.start();
  for (char byte : name) state = machine.Next(state, machine.program().ClassOf(static_cast<unsigned char>(byte)));
  return machine.Accepts(state) || machine.exhausted();
}

}  // namespace

absl::StatusOr<ExprId> SchemaReader::ObjectOf(const Object& schema, const std::string& place, int depth) {
  ASSIGN_OR_RETURN(const std::vector<Member> members, Members(schema, place, depth));
  ASSIGN_OR_RETURN(const Extras extras, ExtrasOf(schema, members, place, depth));
  ASSIGN_OR_RETURN(const Bounds bounds, BoundsOf(schema, "minProperties", "maxProperties", place));
  if (bounds.least == 0 && bounds.most == kUnbounded) return WriteObject(members, extras);
  const auto required = static_cast<uint32_t>(
      std::count_if(members.begin(), members.end(), [](const Member& member) { return member.required; }));
  if (members.empty() && extras.key && bounds.least <= bounds.most) {
    // A document may repeat a key, which then counts once.
    if (bounds.least > 1) return InvalidArgument("at {}: minProperties above 1 needs properties", place);
    return json_.List("{", json_.Member(*extras.key, extras.value), bounds.least, bounds.most, "}");
  }
  if (bounds.least <= required && bounds.most >= members.size() && (!extras.key || bounds.most == kUnbounded)) {
    return WriteObject(members, extras);
  }
  return InvalidArgument("at {}: minProperties and maxProperties are not supported beside optional properties", place);
}

absl::StatusOr<std::vector<SchemaReader::Member>> SchemaReader::Members(const Object& schema, const std::string& place,
                                                                        int depth) {
  std::vector<Member> members;
  std::set<std::string_view> required;
  if (const json::value* names = schema.if_contains("required")) {
    if (!names->is_array()) return InvalidArgument("at {}: required is not a list", place);
    for (const json::value& name : names->get_array()) {
      if (!name.is_string()) return InvalidArgument("at {}: required holds something that is no string", place);
      required.insert(View(name.get_string()));
    }
  }
  const auto add = [&](std::string_view name, const Value_& value, const std::string& at) -> absl::Status {
    if (members.size() >= kMostProperties) {
      return InvalidArgument("at {}: more than {} properties", place, kMostProperties);
    }
    if (name.size() > kLongestName) {
      return InvalidArgument("at {}: a name of {} bytes, expected at most {}", place, name.size(), kLongestName);
    }
    ASSIGN_OR_RETURN(const ExprId expr, Value(value, at, depth + 1));
    const ExprId key = json_.Literal(Value_(json::string_view(name.data(), name.size())));
    members.push_back({.name = name, .pair = json_.Member(key, expr), .required = required.contains(name)});
    return absl::OkStatus();
  };
  if (const json::value* properties = schema.if_contains("properties")) {
    if (!properties->is_object()) return InvalidArgument("at {}: properties is not an object", place);
    for (const auto& [key, value] : properties->get_object()) {
      const std::string_view name(key.data(), key.size());
      RETURN_IF_ERROR(add(name, value, Inside(Inside(place, "properties"), name)));
    }
  }
  // A name that is required alone: what additionalProperties says of it, or anything.
  const json::value* additional = schema.if_contains("additionalProperties");
  const Value_ any(true);
  for (std::string_view name : required) {
    const bool known = std::any_of(members.begin(), members.end(), [&](const Member& m) { return m.name == name; });
    if (!known) RETURN_IF_ERROR(add(name, additional != nullptr ? *additional : any, Inside(place, "required")));
  }
  return members;
}

absl::StatusOr<SchemaReader::Extras> SchemaReader::ExtrasOf(const Object& schema, const std::vector<Member>& members,
                                                            const std::string& place, int depth) {
  if (const json::value* patterns = schema.if_contains("patternProperties")) {
    return PatternExtras(*patterns, members, Inside(place, "patternProperties"), depth);
  }
  const json::value* additional = schema.if_contains("additionalProperties");
  if (additional == nullptr && !members.empty()) return Extras{};
  if (additional != nullptr && *additional == false) return Extras{};
  Extras extras;
  std::vector<std::string_view> names;
  for (const Member& member : members) names.push_back(member.name);
  extras.key = names.empty() ? json_.AnyString() : grammar_.Named(place, json_.StringBut(std::move(names)));
  if (additional == nullptr) {
    extras.value = json_.AnyValue();
  } else {
    ASSIGN_OR_RETURN(extras.value, Value(*additional, Inside(place, "additionalProperties"), depth + 1));
  }
  return extras;
}

absl::StatusOr<SchemaReader::Extras> SchemaReader::PatternExtras(const Value_& patterns,
                                                                 const std::vector<Member>& members,
                                                                 const std::string& place, int depth) {
  if (!patterns.is_object()) return InvalidArgument("at {}: is not an object", place);
  if (patterns.get_object().empty()) return Extras{};
  if (patterns.get_object().size() > 1) {
    return InvalidArgument("at {}: more than one pattern is not supported: a name could match several", place);
  }
  const auto& [key, value] = *patterns.get_object().begin();
  const std::string_view pattern(key.data(), key.size());
  const std::string inside = Inside(place, pattern);
  const absl::StatusOr<ExprId> expr = ReadRegex(
      pattern, grammar_, {.spell = [this](const CharSet& set) { return json_.Spell(set); }, .anywhere = true});
  if (!expr.ok()) return InvalidArgument("at {}: {}", inside, MessageOf(expr.status()));
  absl::StatusOr<Machine> machine = MachineOf(pattern);
  if (!machine.ok()) return Annotate(machine.status(), "at " + inside);
  for (const Member& member : members) {
    if (Matches(*machine, member.name)) {
      return InvalidArgument("at {}: property {} matches the pattern too, which is not supported", inside, member.name);
    }
  }
  Extras extras;
  extras.key = grammar_.Named(inside, json_.Quoted(*expr));
  ASSIGN_OR_RETURN(extras.value, Value(value, inside, depth + 1));
  return extras;
}

// From the back: after(i) is what may follow a member once members i and later are left, first(i) the same before any
// member. Both are rules, so that the grammar grows with the members and not with their combinations.
ExprId SchemaReader::WriteObject(const std::vector<Member>& members, const Extras& extras) {
  ExprId after = grammar_.Empty(), first = grammar_.Empty();
  if (extras.key) {
    const ExprId extra = json_.Member(*extras.key, extras.value);
    after = grammar_.Named("members", grammar_.Star(grammar_.Sequence({json_.Comma(), extra})));
    first = grammar_.Optional(grammar_.Sequence({extra, after}));
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

}  // namespace inferd::constraint
