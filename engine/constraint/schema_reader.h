// The reader behind ReadJsonSchema. It works in two steps: Expand() says what schemas mean as alternatives of one type
// each (schema_expand.cc, schema_negate.cc), and Write() makes expressions of them (schema_scalars.cc, schema_array.cc,
// schema_object.cc).
//
//   SchemaReader reader(schema, grammar, options);
//   ASSIGN_OR_RETURN(ExprId value, reader.Read());
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/constraint/grammar.h"
#include "engine/constraint/json_grammar.h"
#include "engine/constraint/json_schema.h"
#include "engine/constraint/schema_shape.h"
#include "engine/constraint/text_set.h"

namespace inferd::constraint {

class SchemaReader {
 public:
  // `schema` outlives the reader.
  SchemaReader(const boost::json::value& schema, Grammar& grammar, const SchemaOptions& options);

  absl::StatusOr<ExprId> Read();

 private:
  using Json = boost::json::value;
  using Object = boost::json::object;
  // Members of an object that may come, in their order.
  struct Member {
    std::string name;
    ExprId pair;
    bool required;
  };
  // Members beyond those: a comma does not belong to one.
  struct Extras {
    std::optional<ExprId> any;
    std::optional<ExprId> last;  // one must come at the end
  };

  // json_schema.cc
  absl::StatusOr<ExprId> Value(const Conjunction& all);
  absl::StatusOr<ExprId> Body(const Conjunction& all);
  absl::StatusOr<std::optional<ExprId>> Alternatives(const Atom& atom);
  absl::StatusOr<ExprId> Write(const Shape& shape);
  absl::StatusOr<Conjunction> Simplified(const Conjunction& all);
  absl::Status CheckIds(const Json& schema, const std::string& place, bool is_root);
  absl::Status Spend(const std::string& place, int64_t units = 1);
  void Warn(const std::string& place, std::string text);
  absl::StatusOr<const Json*> Target(const Json& reference, const std::string& place) const;

  // schema_expand.cc
  absl::StatusOr<Shapes> Expand(const Conjunction& all, TypeSet types = kAllTypes);
  absl::StatusOr<std::shared_ptr<const Shapes>> ExpandAtom(const Atom& atom, TypeSet types);
  absl::StatusOr<Shapes> ExpandSchema(const Atom& atom, TypeSet types);
  absl::StatusOr<Shapes> ExpandObject(const Object& schema, const std::string& place, TypeSet types);
  absl::StatusOr<Shapes> Typed(const Object& schema, const std::string& place, TypeSet types);
  absl::StatusOr<Shapes> Common(const Shapes& a, const Shapes& b);
  absl::StatusOr<Shapes> Union(const std::vector<Conjunction>& choices, TypeSet types);
  absl::StatusOr<std::vector<Conjunction>> Exclusive(const std::vector<Atom>& parts);
  absl::StatusOr<std::vector<std::vector<Conjunction>>> Applicators(const Object& schema, const std::string& place);
  absl::Status AddDependencies(const Object& schema, const std::string& place,
                               std::vector<std::pair<std::string, Conjunction>>& schemas,
                               std::vector<std::pair<std::string, std::vector<std::string>>>& names) const;
  bool Disjoint(const Atom& a, const Atom& b);
  bool IsEmpty(const Shape& shape, int depth);
  bool IsEmpty(const Conjunction& all, int depth);

  // schema_negate.cc
  absl::StatusOr<Shapes> ExpandNegated(const Object& schema, const std::string& place, TypeSet types);
  absl::Status NegateValues(const std::vector<Json>& values, const std::string& place, TypeSet types, Shapes& shapes);
  absl::StatusOr<Shapes> NegateApplicators(const Object& schema, const std::string& place, TypeSet types);

  // schema_accepts.cc
  absl::StatusOr<bool> Accepts(const Json& value, const Shape& shape);
  absl::StatusOr<bool> AcceptsAll(const Json& value, const Conjunction& all);
  absl::StatusOr<bool> AcceptsText(std::string_view text, const Shape& shape);
  absl::StatusOr<bool> AcceptsArray(const boost::json::array& array, const Shape& shape);
  absl::StatusOr<bool> AcceptsObject(const Object& object, const Shape& shape);
  absl::StatusOr<bool> IsSome(std::string_view name, const SomeMember& some);

  // schema_text.cc
  absl::StatusOr<const TextSet*> PatternSet(std::string_view pattern, bool anywhere, const std::string& place);
  absl::StatusOr<TextSet> TermSet(const TextTerm& term);
  absl::StatusOr<TextSet> TextsOf(const Shape& shape);
  absl::StatusOr<ExprId> String(const Shape& shape);
  ExprId WriteTexts(const TextSet& texts);

  // schema_scalars.cc
  absl::StatusOr<ExprId> Number(const Shape& shape);
  absl::StatusOr<ExprId> Integers(const Shape& shape);
  absl::StatusOr<ExprId> DecimalMultiples(const Shape& shape, double multiple);
  absl::StatusOr<TextSet> Fractions(const Shape& shape, double multiple);

  // schema_array.cc
  Conjunction ElementAt(const Shape& shape, size_t index) const;
  absl::StatusOr<ExprId> Array(const Shape& shape);
  absl::StatusOr<ExprId> PlainArray(const Shape& shape, size_t prefix, CountBounds count);
  absl::StatusOr<ExprId> CountedArray(const Shape& shape, size_t prefix, CountBounds count);
  absl::StatusOr<ExprId> UniqueArray(const Shape& shape, size_t prefix, CountBounds count);

  // schema_object.cc
  absl::StatusOr<Conjunction> MemberNamed(const Shape& shape, std::string_view name);
  absl::StatusOr<ExprId> ObjectOf(const Shape& shape);
  absl::StatusOr<ExprId> SomeOf(const Shape& shape);
  absl::StatusOr<std::vector<Member>> Members(const Shape& shape);
  absl::StatusOr<Extras> ExtrasOf(const Shape& shape, const std::vector<std::string>& names, bool needed);
  absl::StatusOr<std::vector<std::pair<ExprId, Conjunction>>> Cells(const Shape& shape,
                                                                    const std::vector<std::string>& names,
                                                                    const SomeMember* some, bool open);
  ExprId WriteObject(const std::vector<Member>& members, const Extras& extras);
  absl::StatusOr<ExprId> CountedObject(const std::vector<Member>& members, const Extras& extras, CountBounds count,
                                       const std::string& place);

  const Json& root_;
  Grammar& grammar_;
  JsonGrammar json_;
  const SchemaOptions& options_;
  bool ref_stands_alone_ = false;  // up to draft 7, what stands beside $ref says nothing
  std::map<std::vector<std::pair<const Json*, bool>>, RuleId> rules_;
  std::vector<std::pair<RuleId, Conjunction>> pending_;
  std::map<std::tuple<const Json*, bool, TypeSet>, std::shared_ptr<const Shapes>> expanded_;
  std::set<std::pair<const Json*, bool>> expanding_;
  std::map<std::pair<const Json*, const Json*>, bool> disjoint_;
  std::map<std::string, TextSet, std::less<>> pattern_sets_;
  std::set<std::string> warned_;
  int64_t work_ = 0;
};

}  // namespace inferd::constraint
