// Whether a value that a schema lists satisfies the rest of what is said of it.
#include <algorithm>
#include <boost/json/array.hpp>
#include <set>

#include "config/base/status.h"
#include "engine/constraint/schema_keywords.h"
#include "engine/constraint/schema_reader.h"
#include "engine/constraint/string_format.h"

namespace inferd::constraint {
namespace {

namespace json = boost::json;

bool Within(size_t count, const CountBounds& bounds) {
  return count >= bounds.least && (bounds.most == kUnbounded || count <= bounds.most);
}

size_t CharactersIn(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

}  // namespace

absl::StatusOr<bool> SchemaReader::Accepts(const Json& value, const Shape& shape) {
  if (shape.types == 0) {
    const std::string text = CanonicalText(value);
    return std::any_of(shape.values.begin(), shape.values.end(),
                       [&](const Json& one) { return CanonicalText(one) == text; });
  }
  if (TypeOf(value) != shape.types) return false;
  if (shape.types == kNumberType) return Satisfies(NumberOf(value), shape.number);
  if (shape.types == kStringType) return AcceptsText(View(value.get_string()), shape);
  if (shape.types == kArrayType) return AcceptsArray(value.get_array(), shape);
  return shape.types == kObjectType ? AcceptsObject(value.get_object(), shape) : true;
}

absl::StatusOr<bool> SchemaReader::AcceptsAll(const Json& value, const Conjunction& all) {
  for (const Atom& atom : all) {
    RETURN_IF_ERROR(Spend(atom.place));
    ASSIGN_OR_RETURN(const std::shared_ptr<const Shapes> shapes, ExpandAtom(atom, TypeOf(value)));
    bool accepted = false;
    for (size_t i = 0; i < shapes->size() && !accepted; ++i) {
      ASSIGN_OR_RETURN(accepted, Accepts(value, (*shapes)[i]));
    }
    if (!accepted) return false;
  }
  return true;
}

absl::StatusOr<bool> SchemaReader::AcceptsText(std::string_view text, const Shape& shape) {
  if (!Within(CharactersIn(text), shape.count)) return false;
  for (const TextTerm& term : shape.terms) {
    bool matches = false;
    if (term.kind == TextTerm::Kind::kValues) {
      matches = std::find(term.values.begin(), term.values.end(), text) != term.values.end();
    } else if (term.kind == TextTerm::Kind::kPattern) {
      ASSIGN_OR_RETURN(const TextSet* set, PatternSet(term.text, /*anywhere=*/true, term.place));
      matches = set->Has(text);
    } else if (const std::optional<std::string_view> pattern = PatternOfFormat(term.text)) {
      ASSIGN_OR_RETURN(const TextSet* set, PatternSet(*pattern, /*anywhere=*/false, term.place));
      matches = set->Has(text);
    } else {
      Warn(term.place, fmt::format("format {} is not known and was ignored", term.text.substr(0, 64)));
      matches = true;
    }
    if (matches == term.negated) return false;
  }
  return true;
}

absl::StatusOr<bool> SchemaReader::AcceptsArray(const json::array& array, const Shape& shape) {
  if (!Within(array.size(), shape.count)) return false;
  std::set<std::string> texts;
  for (size_t i = 0; i < array.size(); ++i) {
    ASSIGN_OR_RETURN(const bool accepted, AcceptsAll(array[i], ElementAt(shape, i)));
    if (!accepted || (shape.unique && !texts.insert(CanonicalText(array[i])).second)) return false;
  }
  for (const ContainsRule& rule : shape.contains) {
    size_t count = 0;
    for (size_t i = rule.from; i < array.size(); ++i) {
      ASSIGN_OR_RETURN(const bool accepted, AcceptsAll(array[i], rule.schema));
      count += accepted ? 1 : 0;
    }
    if (!Within(count, rule.count)) return false;
  }
  return true;
}

absl::StatusOr<bool> SchemaReader::AcceptsObject(const Object& object, const Shape& shape) {
  if (!Within(object.size(), shape.count)) return false;
  for (const std::string& name : shape.required) {
    if (!object.contains(name)) return false;
  }
  for (const auto& [key, member] : object) {
    ASSIGN_OR_RETURN(const Conjunction all, MemberNamed(shape, {key.data(), key.size()}));
    ASSIGN_OR_RETURN(const bool accepted, AcceptsAll(member, all));
    if (!accepted) return false;
  }
  for (const SomeMember& some : shape.some) {
    bool found = false;
    for (const auto& [key, member] : object) {
      ASSIGN_OR_RETURN(const bool is_some, IsSome({key.data(), key.size()}, some));
      if (!is_some) continue;
      ASSIGN_OR_RETURN(const bool accepted, AcceptsAll(member, some.value));
      found |= accepted;
    }
    if (!found) return false;
  }
  return true;
}

absl::StatusOr<bool> SchemaReader::IsSome(std::string_view name, const SomeMember& some) {
  if (some.pattern) {
    ASSIGN_OR_RETURN(const TextSet* set, PatternSet(*some.pattern, /*anywhere=*/true, some.place));
    if (!set->Has(name)) return false;
  }
  if (some.beyond == nullptr) return true;
  for (const auto& [known, schema] : some.beyond->properties) {
    if (known == name) return false;
  }
  for (const auto& [pattern, schema] : some.beyond->patterns) {
    ASSIGN_OR_RETURN(const TextSet* set, PatternSet(pattern, /*anywhere=*/true, some.place));
    if (set->Has(name)) return false;
  }
  return true;
}

}  // namespace inferd::constraint
