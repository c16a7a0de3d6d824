// Functions of the language that are written in C++: filters, tests, methods and globals, all in tables of one shape.
//
//   absl::StatusOr<Value> Center(Heap& heap, const Value& self, const Bound& arguments) {
//     ASSIGN_OR_RETURN(const int64_t width, arguments.Integer(0, 80));
//     ...
//   }
//   constexpr Builtin kFilters[] = {{"center", "?width", Center}, ...};
//
// A signature lists the parameters after the value: "old new ?count" has two that must be given and one that may be
// left out; after "/" they cannot be given by name; "*" takes any arguments, unbound.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "engine/template/heap.h"

namespace inferd::chat_template {

struct Signature {
  static constexpr size_t kMaxParameters = 8;
  std::array<std::string_view, kMaxParameters> names{};
  size_t count = 0;
  size_t required = 0;
  bool positional_only = false;
  bool unbound = false;

  consteval Signature(const char* declaration) {  // NOLINT: a table reads better without a conversion
    std::string_view rest = declaration;
    while (!rest.empty()) {
      std::string_view word = rest.substr(0, rest.find(' '));
      rest.remove_prefix(word.size() == rest.size() ? word.size() : word.size() + 1);
      if (word == "/") {
        positional_only = true;
      } else if (word == "*") {
        unbound = true;
      } else {
        const bool optional = word.front() == '?';
        if (optional) word.remove_prefix(1);
        names[count++] = word;
        if (!optional) required = count;
      }
    }
  }
};

// The arguments of one call, by the places of their parameters.
class Bound {
 public:
  explicit Bound(const Arguments& all) : all_(all) {}
  bool Has(size_t place) const { return values_[place] != nullptr; }
  const Value& operator[](size_t place) const { return *values_[place]; }  // Has(place)
  const Arguments& all() const { return all_; }

  // The argument as this type, or `otherwise` if it was not given; INVALID_ARGUMENT for another type.
  absl::StatusOr<int64_t> Integer(size_t place, int64_t otherwise = 0) const;
  absl::StatusOr<const Value*> String(size_t place) const;  // null if not given or None
  bool Truth(size_t place, bool otherwise) const;

 private:
  friend absl::StatusOr<Bound> Bind(std::string_view, const Signature&, const Arguments&);
  const Arguments& all_;
  std::array<const Value*, Signature::kMaxParameters> values_{};
};

struct Builtin {
  using Function = absl::StatusOr<Value> (*)(Heap& heap, const Value& self, const Bound& arguments);
  std::string_view name;
  Signature signature;
  Function function;
};

absl::StatusOr<Bound> Bind(std::string_view function_name, const Signature& signature, const Arguments& arguments);
absl::StatusOr<Value> CallBuiltin(Heap& heap, const Builtin& builtin, const Value& self, const Arguments& arguments);
const Builtin* FindBuiltin(std::span<const Builtin> table, std::string_view name);

// A builtin as a value: a global function, or a method together with the value it belongs to.
class BuiltinFunction final : public Object {
 public:
  BuiltinFunction(const Builtin& builtin, Value self) : builtin_(builtin), self_(std::move(self)) {
    depth = self_.depth() + 1;
  }
  std::string_view TypeName() const override { return "builtin_function_or_method"; }
  bool callable() const override { return true; }
  absl::StatusOr<Value> Call(Heap& heap, const Arguments& arguments) override {
    return CallBuiltin(heap, builtin_, self_, arguments);
  }
  absl::Status AppendRepr(Heap& heap, Text& out) const override;

 private:
  const Builtin& builtin_;
  const Value self_;
};

}  // namespace inferd::chat_template
