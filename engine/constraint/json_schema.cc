// The reader of values: which rule a schema becomes. What schemas mean is in schema_expand.cc.
#include "engine/constraint/json_schema.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <utility>

#include "config/base/status.h"
#include "engine/constraint/schema_bounds.h"
#include "engine/constraint/schema_keywords.h"
#include "engine/constraint/schema_reader.h"

namespace inferd::constraint {
namespace {

namespace json = boost::json;

constexpr int kDeepest = 100;
constexpr int kMostReferences = 10'000;  // from one to the next
constexpr int64_t kMostWork = 150'000;
constexpr size_t kMostWarnings = 16;

std::optional<int> HexDigit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return std::nullopt;
}

// A fragment of a URI without its percent-encoding.
std::string Decoded(std::string_view fragment) {
  std::string text;
  for (size_t i = 0; i < fragment.size(); ++i) {
    const bool encoded = fragment[i] == '%' && i + 2 < fragment.size();
    const std::optional<int> high = encoded ? HexDigit(fragment[i + 1]) : std::nullopt;
    const std::optional<int> low = encoded ? HexDigit(fragment[i + 2]) : std::nullopt;
    if (high && low) i += 2;
    text += high && low ? static_cast<char>(*high * 16 + *low) : fragment[i];
  }
  return text;
}

bool HoldsValues(std::string_view keyword) {
  return keyword == "enum" || keyword == "const" || keyword == "default" || keyword == "examples" ||
         keyword == "example";
}

// The schema with that $anchor, or that $id of draft 7.
const json::value* FindAnchor(const json::value& schema, std::string_view anchor) {
  if (schema.is_array()) {
    for (const json::value& part : schema.get_array()) {
      if (const json::value* found = FindAnchor(part, anchor)) return found;
    }
  }
  if (!schema.is_object()) return nullptr;
  for (const auto& [key, value] : schema.get_object()) {
    const std::string_view keyword(key.data(), key.size());
    if (keyword == "$anchor" && value.is_string() && View(value.get_string()) == anchor) return &schema;
    if (keyword == "$id" && value.is_string() && View(value.get_string()) == "#" + std::string(anchor)) return &schema;
  }
  for (const auto& [key, value] : schema.get_object()) {
    if (HoldsValues({key.data(), key.size()})) continue;
    if (const json::value* found = FindAnchor(value, anchor)) return found;
  }
  return nullptr;
}

bool IsOldDraft(const json::value& schema) {
  const json::value* name = schema.is_object() ? schema.get_object().if_contains("$schema") : nullptr;
  if (name == nullptr || !name->is_string()) return false;
  const std::string_view uri = View(name->get_string());
  return uri.find("draft-07") != uri.npos || uri.find("draft-06") != uri.npos || uri.find("draft-04") != uri.npos;
}

}  // namespace

SchemaReader::SchemaReader(const Json& schema, Grammar& grammar, const SchemaOptions& options)
    : root_(schema), grammar_(grammar), json_(grammar), options_(options), ref_stands_alone_(IsOldDraft(schema)) {}

// Rules are written one after the other, so that a chain of references needs no stack.
absl::StatusOr<ExprId> SchemaReader::Read() {
  RETURN_IF_ERROR(CheckIds(root_, "#", /*is_root=*/true));
  ASSIGN_OR_RETURN(const ExprId value, Value({{.schema = &root_, .place = "#"}}));
  while (!pending_.empty()) {
    const auto [rule, all] = std::move(pending_.back());
    pending_.pop_back();
    ASSIGN_OR_RETURN(const ExprId body, Body(all));
    grammar_.Define(rule, body);
  }
  return value;
}

absl::Status SchemaReader::Spend(const std::string& place, int64_t units) {
  work_ += units;
  if (!grammar_.too_large() && work_ <= kMostWork) return absl::OkStatus();
  return InvalidArgument("at {}: the schema is too large, with all that it refers to", place);
}

void SchemaReader::Warn(const std::string& place, std::string text) {
  if (options_.warnings == nullptr || options_.warnings->size() >= kMostWarnings) return;
  if (warned_.insert(place + text).second) options_.warnings->push_back({.place = place, .text = std::move(text)});
}

// A name of its own within the schema changes what references within it mean, which is not followed.
absl::Status SchemaReader::CheckIds(const Json& schema, const std::string& place, bool is_root) {
  if (schema.is_array()) {
    for (const Json& part : schema.get_array()) RETURN_IF_ERROR(CheckIds(part, place, false));
  }
  if (!schema.is_object()) return absl::OkStatus();
  for (const auto& [key, value] : schema.get_object()) {
    const std::string_view keyword(key.data(), key.size());
    const bool names = keyword == "$id" && value.is_string() && !View(value.get_string()).starts_with("#");
    if (names && !is_root) return InvalidArgument("at {}: keyword $id is supported at the root alone", place);
    if (!HoldsValues(keyword)) RETURN_IF_ERROR(CheckIds(value, Inside(place, keyword), false));
  }
  return absl::OkStatus();
}

absl::StatusOr<const SchemaReader::Json*> SchemaReader::Target(const Json& reference, const std::string& place) const {
  if (!reference.is_string()) return InvalidArgument("at {}: $ref is not a string", place);
  const std::string_view uri = View(reference.get_string());
  if (!uri.starts_with("#")) {
    return InvalidArgument("at {}: $ref {} leads out of the schema, expected #/...", place, uri.substr(0, 64));
  }
  const std::string fragment = Decoded(uri.substr(1));
  json::error_code error;
  const Json* target =
      fragment.empty() || fragment[0] == '/' ? root_.find_pointer(fragment, error) : FindAnchor(root_, fragment);
  if (target == nullptr) return InvalidArgument("at {}: $ref {} leads nowhere", place, uri.substr(0, 64));
  return target;
}

// Without what says nothing and what is there twice; what is only a reference is what it refers to.
absl::StatusOr<Conjunction> SchemaReader::Simplified(const Conjunction& all) {
  Conjunction simple;
  std::vector<Atom> work(all.rbegin(), all.rend());
  int references = 0;
  while (!work.empty()) {
    Atom atom = std::move(work.back());
    work.pop_back();
    const Object* object = atom.schema->is_object() ? &atom.schema->get_object() : nullptr;
    const bool refers =
        object != nullptr && object->contains("$ref") && (ref_stands_alone_ || OnlyDescribes(*object, "$ref"));
    if (refers) {
      if (++references > kMostReferences) return InvalidArgument("at {}: $ref leads back to itself", atom.place);
      ASSIGN_OR_RETURN(atom.schema, Target(object->at("$ref"), atom.place));
      work.push_back(std::move(atom));
      continue;
    }
    if (object != nullptr && !atom.negated && object->contains("allOf") && OnlyDescribes(*object, "allOf")) {
      ASSIGN_OR_RETURN(const json::array* parts, ListOf(*object, "allOf", atom.place));
      RETURN_IF_ERROR(Spend(atom.place, static_cast<int64_t>(parts->size())));
      if (++references > kMostReferences) return InvalidArgument("at {}: allOf leads back to itself", atom.place);
      std::vector<Atom> atoms = AtomsOf(*parts, Inside(atom.place, "allOf"));
      work.insert(work.end(), atoms.rbegin(), atoms.rend());
      continue;
    }
    const bool says_nothing =
        !atom.negated && (*atom.schema == true || (object != nullptr && OnlyDescribes(*object, "")));
    const auto same = [&](const Atom& other) { return other.schema == atom.schema && other.negated == atom.negated; };
    if (!says_nothing && std::none_of(simple.begin(), simple.end(), same)) simple.push_back(std::move(atom));
  }
  return simple;
}

absl::StatusOr<ExprId> SchemaReader::Value(const Conjunction& all) {
  RETURN_IF_ERROR(Spend(all.empty() ? "#" : all[0].place));
  ASSIGN_OR_RETURN(const Conjunction simple, Simplified(all));
  if (simple.empty()) return json_.AnyValue();
  // What stands in one place alone is written there, all else as a rule.
  const bool is_here =
      all.size() == 1 && simple.size() == 1 && simple[0].schema == all[0].schema && simple[0].schema != &root_;
  if (is_here) return Body(simple);
  std::vector<std::pair<const Json*, bool>> parts;
  for (const Atom& atom : simple) parts.emplace_back(atom.schema, atom.negated);
  std::sort(parts.begin(), parts.end());
  const auto [found, is_new] = rules_.try_emplace(std::move(parts), -1);
  if (is_new) {
    found->second = grammar_.AddRule(simple[0].place);
    grammar_.Define(found->second, grammar_.Nothing());
    pending_.emplace_back(found->second, simple);
  }
  return grammar_.Call(found->second);
}

absl::StatusOr<ExprId> SchemaReader::Body(const Conjunction& all) {
  if (all.size() == 1 && !all[0].negated) {
    ASSIGN_OR_RETURN(const std::optional<ExprId> alternatives, Alternatives(all[0]));
    if (alternatives) return *alternatives;
  }
  ASSIGN_OR_RETURN(Shapes shapes, Expand(all));
  const bool spoken =
      std::any_of(shapes.begin(), shapes.end(), [&](const Shape& shape) { return shape.spoken && !IsEmpty(shape, 1); });
  if (options_.narrow && spoken) std::erase_if(shapes, [](const Shape& shape) { return !shape.spoken; });
  std::vector<ExprId> choices;
  for (const Shape& shape : shapes) {
    ASSIGN_OR_RETURN(const ExprId choice, Write(shape));
    choices.push_back(choice);
  }
  return grammar_.Choice(std::move(choices));
}

// Of a schema that is nothing but alternatives, each by itself.
absl::StatusOr<std::optional<ExprId>> SchemaReader::Alternatives(const Atom& atom) {
  if (!atom.schema->is_object()) return std::nullopt;
  const Object& schema = atom.schema->get_object();
  for (const char* keyword : {"anyOf", "oneOf"}) {
    if (!schema.contains(keyword) || !OnlyDescribes(schema, keyword)) continue;
    ASSIGN_OR_RETURN(const json::array* list, ListOf(schema, keyword, atom.place));
    const std::vector<Atom> parts = AtomsOf(*list, Inside(atom.place, keyword));
    std::vector<Conjunction> all;
    for (const Atom& part : parts) all.push_back({part});
    if (keyword[0] == 'o') {
      ASSIGN_OR_RETURN(all, Exclusive(parts));
    }
    std::vector<ExprId> choices;
    for (const Conjunction& one : all) {
      ASSIGN_OR_RETURN(const ExprId choice, Value(one));
      choices.push_back(choice);
    }
    return grammar_.Choice(std::move(choices));
  }
  return std::nullopt;
}

absl::StatusOr<ExprId> SchemaReader::Write(const Shape& shape) {
  RETURN_IF_ERROR(Spend(shape.place));
  switch (shape.types) {
    case kNullType:
      return json_.Null();
    case kBooleanType:
      return json_.Boolean();
    case kNumberType:
      return Number(shape);
    case kStringType:
      return String(shape);
    case kArrayType:
      return Array(shape);
    case kObjectType:
      return ObjectOf(shape);
    default:
      break;
  }
  std::vector<ExprId> choices;
  for (const Json& value : shape.values) choices.push_back(json_.Literal(value));
  return grammar_.Choice(std::move(choices));
}

absl::StatusOr<ExprId> ReadJsonSchema(const json::value& schema, Grammar& grammar, const SchemaOptions& options) {
  return SchemaReader(schema, grammar, options).Read();
}

absl::StatusOr<ExprId> ReadJsonSchema(std::string_view text, Grammar& grammar, const SchemaOptions& options) {
  json::parse_options limits;
  limits.max_depth = kDeepest;
  json::error_code error;
  const json::value schema = json::parse({text.data(), text.size()}, error, {}, limits);
  if (error) return InvalidArgument("at #: the schema is not JSON: {}", error.message());
  return ReadJsonSchema(schema, grammar, options);
}

void AddWarnings(std::string_view field, const std::vector<SchemaWarning>& warnings, std::vector<Warning>& all) {
  for (const SchemaWarning& warning : warnings) {
    all.push_back({.field = std::string(field), .text = fmt::format("at {}: {}", warning.place, warning.text)});
  }
}

}  // namespace inferd::constraint
