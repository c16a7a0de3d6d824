#include "engine/template/object.h"

#include "config/base/status.h"
#include "engine/template/heap.h"

namespace inferd::chat_template {

absl::StatusOr<Value> Object::Call(Heap&, const Arguments&) {
  return InvalidArgument("'{}' object is not callable", TypeName());
}

absl::StatusOr<std::optional<Value>> Object::Attribute(Heap&, const Value&, std::string_view) {
  return std::optional<Value>();
}

absl::StatusOr<std::optional<Value>> Object::Item(Heap&, const Value&) { return std::optional<Value>(); }

absl::StatusOr<std::shared_ptr<const Sequence>> Object::Iterate(Heap&) { return nullptr; }

absl::StatusOr<bool> Object::Equals(Heap&, const Object& other) const { return this == &other; }

absl::Status Object::AppendRepr(Heap&, Text& out) const {
  out.Append(fmt::format("<{} object>", TypeName()), true);
  return absl::OkStatus();
}

}  // namespace inferd::chat_template
