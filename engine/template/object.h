// Values that are neither data nor text: functions, iterators, views, ranges, namespaces, loops, macros.
//
//   class Joiner final : public Object { ... absl::StatusOr<Value> Call(Heap&, const Arguments&) override; };
//
// The defaults are those of a Python object that is true, has no attributes, no length and no elements.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/template/value.h"

namespace inferd::chat_template {

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

class Object {
 public:
  virtual ~Object() = default;

  virtual std::string_view TypeName() const = 0;
  virtual bool callable() const { return false; }
  virtual absl::StatusOr<Value> Call(Heap& heap, const Arguments& arguments);
  // Undefined-by-absence is nullopt; names with a leading underscore never arrive here.
  virtual absl::StatusOr<std::optional<Value>> Attribute(Heap& heap, const Value& self, std::string_view name);
  virtual absl::StatusOr<std::optional<Value>> Item(Heap& heap, const Value& key);
  virtual std::optional<size_t> Length() const { return std::nullopt; }
  virtual bool iterable() const { return false; }
  // The elements that are left, as a Python iteration gives them; null: not iterable.
  virtual absl::StatusOr<std::shared_ptr<const Sequence>> Iterate(Heap& heap);
  virtual bool reversible() const { return false; }
  virtual absl::StatusOr<bool> Equals(Heap& heap, const Object& other) const;
  virtual absl::Status AppendRepr(Heap& heap, Text& out) const;

  uint32_t depth = 0;  // of the containers it holds
};

}  // namespace inferd::chat_template
