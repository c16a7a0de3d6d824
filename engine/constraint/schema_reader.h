// The reader behind ReadJsonSchema: one function a kind of value.
//
//   SchemaReader reader(schema, grammar);
//   ASSIGN_OR_RETURN(ExprId value, reader.Read());
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/constraint/grammar.h"
#include "engine/constraint/json_grammar.h"

namespace inferd::constraint {

class SchemaReader {
 public:
  // `schema` outlives the reader.
  SchemaReader(const boost::json::value& schema, Grammar& grammar) : root_(schema), grammar_(grammar), json_(grammar) {}

  absl::StatusOr<ExprId> Read() { return Value(root_, "#", 0); }

 private:
  using Value_ = boost::json::value;
  using Object = boost::json::object;

  struct Bounds {
    uint32_t least = 0, most = kUnbounded;
  };
  struct Member {
    std::string_view name;
    ExprId pair;
    bool required;
  };
  // Members beyond those of `properties`.
  struct Extras {
    std::optional<ExprId> key;
    ExprId value = -1;
  };

  absl::StatusOr<ExprId> Value(const Value_& schema, const std::string& place, int depth);
  absl::StatusOr<ExprId> ObjectSchema(const Object& schema, const std::string& place, int depth);
  absl::Status CheckKeywords(const Object& schema, const std::string& place) const;
  absl::StatusOr<ExprId> Reference(const Object& schema, const std::string& place, int depth);
  absl::StatusOr<const Value_*> Target(const Value_& reference, const std::string& place) const;
  absl::StatusOr<Object> Resolved(const Value_& schema, const std::string& place) const;
  absl::StatusOr<ExprId> AllOf(const Object& schema, const std::string& place, int depth);
  absl::StatusOr<ExprId> AnyOf(std::string_view keyword, const Object& schema, const std::string& place, int depth);
  absl::StatusOr<ExprId> Values(const Object& schema, const std::string& place);
  absl::StatusOr<std::vector<std::string>> TypesOf(const Object& schema, const std::string& place) const;
  absl::StatusOr<ExprId> OfType(std::string_view type, const Object& schema, const std::string& place, int depth);
  absl::StatusOr<ExprId> String(const Object& schema, const std::string& place);
  absl::StatusOr<ExprId> Integer(const Object& schema, const std::string& place);
  absl::StatusOr<ExprId> Number(const Object& schema, const std::string& place);
  absl::StatusOr<ExprId> Array(const Object& schema, const std::string& place, int depth);
  // Of schema_object.cc.
  absl::StatusOr<ExprId> ObjectOf(const Object& schema, const std::string& place, int depth);
  absl::StatusOr<std::vector<Member>> Members(const Object& schema, const std::string& place, int depth);
  absl::StatusOr<Extras> ExtrasOf(const Object& schema, const std::vector<Member>& members, const std::string& place,
                                  int depth);
  absl::StatusOr<Extras> PatternExtras(const Value_& patterns, const std::vector<Member>& members,
                                       const std::string& place, int depth);
  ExprId WriteObject(const std::vector<Member>& members, const Extras& extras);

  absl::StatusOr<Bounds> BoundsOf(const Object& schema, const char* least, const char* most,
                                  const std::string& place) const;
  absl::StatusOr<std::optional<double>> NumberOf(const Object& schema, const char* keyword,
                                                 const std::string& place) const;

  const Value_& root_;
  Grammar& grammar_;
  JsonGrammar json_;
  std::map<std::string, RuleId> references_;
  int values_ = 0;  // schemas that were read
};

// "#/properties/a" + "b": the place of what is inside.
std::string Inside(const std::string& place, std::string_view key);
// The value's text, cut short.
std::string Shown(const boost::json::value& value);

}  // namespace inferd::constraint
