// The attributes that filters like map, sort and groupby name: "function.name", "items.0", or a number.
//
//   ASSIGN_OR_RETURN(AttributePath path, AttributePath::Parse(argument));
//   ASSIGN_OR_RETURN(Value name, path.Of(heap, tool));
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/template/heap.h"

namespace inferd::chat_template {

class AttributePath {
 public:
  AttributePath() = default;                                           // of nothing: every value itself
  static absl::StatusOr<AttributePath> Parse(const Value& attribute);  // a str, an int or None
  static absl::StatusOr<std::vector<AttributePath>> ParseSeveral(const Value& attribute);  // parted by commas

  // What is used instead of an undefined attribute.
  void set_default(Value value) { default_ = std::move(value); }
  bool has_default() const { return default_.has_value(); }
  const Value& default_value() const { return *default_; }

  absl::StatusOr<Value> Of(Heap& heap, const Value& value) const;

 private:
  std::vector<Value> parts_;
  std::optional<Value> default_;
};

}  // namespace inferd::chat_template
