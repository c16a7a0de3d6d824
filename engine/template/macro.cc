#include "engine/template/macro.h"

#include <algorithm>

#include "config/base/status.h"
#include "engine/template/builtin.h"
#include "engine/template/compare.h"

namespace inferd::chat_template {
namespace {

absl::StatusOr<Value> CycleOf(Heap&, const Value& self, const Bound& arguments) {
  return static_cast<LoopObject&>(self.object()).Cycle(arguments.all());
}

absl::StatusOr<Value> ChangedOf(Heap& heap, const Value& self, const Bound& arguments) {
  return static_cast<LoopObject&>(self.object()).Changed(heap, arguments.all());
}

constexpr Builtin kLoopMethods[] = {{"cycle", "*", CycleOf}, {"changed", "*", ChangedOf}};

class BlockReference final : public Object {
 public:
  BlockReference(Interpreter& interpreter, const Statement& block) : interpreter_(interpreter), block_(block) {}
  std::string_view TypeName() const override { return "BlockReference"; }
  bool callable() const override { return true; }
  absl::StatusOr<Value> Call(Heap&, const Arguments&) override { return interpreter_.CallBlock(block_); }

 private:
  Interpreter& interpreter_;
  const Statement& block_;
};

}  // namespace

absl::StatusOr<std::optional<Value>> Macro::Attribute(Heap& heap, const Value&, std::string_view name) {
  if (name == "name") return std::optional<Value>(heap.String(definition_.name));
  if (name == "catch_kwargs") return std::optional<Value>(Value::Bool(definition_.uses_kwargs));
  if (name == "catch_varargs") return std::optional<Value>(Value::Bool(definition_.uses_varargs));
  if (name == "caller") return std::optional<Value>(Value::Bool(definition_.uses_caller));
  if (name != "arguments") return std::optional<Value>();
  std::vector<Value> names;
  for (const MacroDefinition::Parameter& parameter : definition_.parameters)
    names.push_back(heap.String(parameter.name));
  return std::optional<Value>(heap.Tuple(std::move(names)));
}

absl::Status Macro::AppendRepr(Heap&, Text& out) const {
  out.Append(fmt::format("<Macro '{}'>", definition_.name), true);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Value>> Blocks::Attribute(Heap& heap, const Value&, std::string_view name) {
  for (const auto& [block_name, block] : interpreter_.tree().blocks) {
    if (block_name == name) {
      return std::optional<Value>(heap.OfObject(std::make_shared<BlockReference>(interpreter_, *block)));
    }
  }
  return std::optional<Value>();
}

absl::StatusOr<std::optional<Value>> LoopObject::Fetch(Heap& heap) {
  while (elements_ != nullptr && fetched_ < elements_->items.size()) {
    RETURN_IF_ERROR(heap.Step());
    const Value element = elements_->items[fetched_++];
    ASSIGN_OR_RETURN(const bool taken, interpreter_.LoopTakes(statement_, outer_, element));
    if (taken) return std::optional<Value>(element);
  }
  return std::optional<Value>();
}

absl::StatusOr<std::optional<Value>> LoopObject::Advance(Heap& heap) {
  std::optional<Value> element;
  if (!upcoming_.empty()) {
    element = std::move(upcoming_.front());
    upcoming_.pop_front();
  } else {
    ASSIGN_OR_RETURN(element, Fetch(heap));
  }
  if (!element) return element;
  ++index0_;
  previous_ = std::exchange(current_, *element);
  return element;
}

absl::StatusOr<bool> LoopObject::HasNext(Heap& heap) {
  if (!upcoming_.empty()) return true;
  ASSIGN_OR_RETURN(std::optional<Value> element, Fetch(heap));
  if (!element) return false;
  upcoming_.push_back(*std::move(element));
  return true;
}

// Fetches all that is left where a condition decides how many there are.
absl::StatusOr<int64_t> LoopObject::LengthNow(Heap& heap) {
  if (length_) return *length_;
  if (statement_.condition == nullptr && elements_ != nullptr) {
    length_ = static_cast<int64_t>(elements_->items.size());
    return *length_;
  }
  while (true) {
    ASSIGN_OR_RETURN(std::optional<Value> element, Fetch(heap));
    if (!element) break;
    upcoming_.push_back(*std::move(element));
  }
  length_ = index0_ + 1 + static_cast<int64_t>(upcoming_.size());
  return *length_;
}

absl::StatusOr<std::optional<Value>> LoopObject::Attribute(Heap& heap, const Value& self, std::string_view name) {
  const auto whole = [](int64_t number) { return std::optional<Value>(Value::Integer(number)); };
  if (name == "index") return whole(index0_ + 1);
  if (name == "index0") return whole(index0_);
  if (name == "first") return std::optional<Value>(Value::Bool(index0_ == 0));
  if (name == "depth") return whole(recursion_ + 1);
  if (name == "depth0") return whole(recursion_);
  if (name == "length" || name == "revindex" || name == "revindex0") {
    ASSIGN_OR_RETURN(const int64_t length, LengthNow(heap));
    return whole(name == "length" ? length : name == "revindex" ? length - index0_ : length - index0_ - 1);
  }
  if (name == "last" || name == "nextitem") {
    ASSIGN_OR_RETURN(const bool has_next, HasNext(heap));
    if (name == "last") return std::optional<Value>(Value::Bool(!has_next));
    return std::optional<Value>(has_next ? upcoming_.front() : heap.Undefined("there is no next item"));
  }
  if (name == "previtem") {
    return std::optional<Value>(index0_ == 0 ? heap.Undefined("there is no previous item") : previous_);
  }
  if (const Builtin* method = FindBuiltin(kLoopMethods, name)) {
    return std::optional<Value>(heap.OfObject(std::make_shared<BuiltinFunction>(*method, self)));
  }
  return std::optional<Value>();
}

absl::StatusOr<Value> LoopObject::Cycle(const Arguments& arguments) const {
  if (arguments.positional.empty()) return InvalidArgument("no items for cycling given");
  return arguments.positional[static_cast<size_t>(std::max<int64_t>(index0_, 0)) % arguments.positional.size()];
}

absl::StatusOr<Value> LoopObject::Changed(Heap& heap, const Arguments& arguments) {
  bool same = changed_.has_value() && changed_->size() == arguments.positional.size();
  for (size_t i = 0; same && i < arguments.positional.size(); ++i) {
    ASSIGN_OR_RETURN(same, AreEqual(heap, (*changed_)[i], arguments.positional[i]));
  }
  changed_ = arguments.positional;
  return Value::Bool(!same);
}

absl::StatusOr<Value> LoopObject::Call(Heap&, const Arguments& arguments) {
  if (!statement_.recursive)
    return InvalidArgument("the loop must have the 'recursive' marker to be called recursively");
  if (arguments.positional.size() != 1 || !arguments.named.empty()) return InvalidArgument("loop() takes one argument");
  return interpreter_.CallLoop(statement_, outer_, arguments.positional[0], recursion_ + 1);
}

}  // namespace inferd::chat_template
