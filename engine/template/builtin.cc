#include "engine/template/builtin.h"

#include <algorithm>

#include "config/base/status.h"
#include "engine/template/compare.h"

namespace inferd::chat_template {

absl::StatusOr<int64_t> Bound::Integer(size_t place, int64_t otherwise) const {
  if (!Has(place)) return otherwise;
  const Value& value = (*this)[place];
  if (value.is_undefined()) return UndefinedError(value);
  if (!value.is_whole()) return InvalidArgument("'{}' object cannot be interpreted as an integer", value.TypeName());
  return value.integer();
}

absl::StatusOr<const Value*> Bound::String(size_t place) const {
  if (!Has(place) || (*this)[place].is_none()) return nullptr;
  const Value& value = (*this)[place];
  if (value.is_undefined()) return UndefinedError(value);
  if (!value.is_string()) return InvalidArgument("expected a str, not '{}'", value.TypeName());
  return &value;
}

bool Bound::Truth(size_t place, bool otherwise) const { return Has(place) ? IsTrue((*this)[place]) : otherwise; }

absl::StatusOr<Bound> Bind(std::string_view function_name, const Signature& signature, const Arguments& arguments) {
  Bound bound(arguments);
  if (signature.unbound) return bound;
  if (arguments.positional.size() > signature.count) {
    return InvalidArgument("{}() takes at most {} arguments ({} given)", function_name, signature.count,
                           arguments.positional.size());
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) bound.values_[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto end = signature.names.begin() + signature.count;
    const auto found = std::find(signature.names.begin(), end, name);
    if (found == end || signature.positional_only) {
      return InvalidArgument("{}() got an unexpected keyword argument '{}'", function_name, name);
    }
    const Value*& place = bound.values_[found - signature.names.begin()];
    if (place != nullptr) return InvalidArgument("{}() got multiple values for argument '{}'", function_name, name);
    place = &value;
  }
  for (size_t i = 0; i < signature.required; ++i) {
    if (bound.values_[i] == nullptr) {
      return InvalidArgument("{}() missing required argument '{}'", function_name, signature.names[i]);
    }
  }
  return bound;
}

absl::StatusOr<Value> CallBuiltin(Heap& heap, const Builtin& builtin, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(heap.Step());
  ASSIGN_OR_RETURN(const Bound bound, Bind(builtin.name, builtin.signature, arguments));
  return builtin.function(heap, self, bound);
}

const Builtin* FindBuiltin(std::span<const Builtin> table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(), [name](const Builtin& row) { return row.name == name; });
  return found == table.end() ? nullptr : &*found;
}

absl::Status BuiltinFunction::AppendRepr(Heap&, Text& out) const {
  out.Append(fmt::format("<built-in function {}>", builtin_.name), true);
  return absl::OkStatus();
}

}  // namespace inferd::chat_template
