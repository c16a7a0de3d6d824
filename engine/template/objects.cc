#include "engine/template/objects.h"

#include <algorithm>

#include "config/base/status.h"
#include "engine/template/builtin.h"
#include "engine/template/print.h"

namespace inferd::chat_template {
namespace {

absl::StatusOr<Value> NextOf(Heap&, const Value& self, const Bound&) {
  return static_cast<Cycler&>(self.object()).Next();
}

absl::StatusOr<Value> ResetOf(Heap&, const Value& self, const Bound&) {
  static_cast<Cycler&>(self.object()).Reset();
  return Value::None();
}

constexpr Builtin kCyclerMethods[] = {{"next", "", NextOf}, {"reset", "", ResetOf}};

}  // namespace

Value Iterator::Make(Heap& heap, std::vector<Value> elements, std::string_view type_name) {
  return heap.OfObject(std::make_shared<Iterator>(heap.NewSequence(std::move(elements)), type_name));
}

absl::StatusOr<std::shared_ptr<const Sequence>> Iterator::Iterate(Heap& heap) {
  const size_t begin = std::exchange(next_, elements_->items.size());
  if (begin == 0) return elements_;
  return heap.NewSequence({elements_->items.begin() + static_cast<ptrdiff_t>(begin), elements_->items.end()});
}

std::optional<Value> Iterator::Next() {
  if (next_ >= elements_->items.size()) return std::nullopt;
  return elements_->items[next_++];
}

DictView::DictView(Value dict, Part part) : dict_(std::move(dict)), part_(part) { depth = dict_.depth() + 1; }

std::string_view DictView::TypeName() const {
  return part_ == Part::kKeys ? "dict_keys" : part_ == Part::kValues ? "dict_values" : "dict_items";
}

std::optional<size_t> DictView::Length() const { return dict_.dict().size(); }

absl::StatusOr<std::shared_ptr<const Sequence>> DictView::Elements(Heap& heap) const {
  RETURN_IF_ERROR(heap.CheckElements(dict_.dict().size()));
  std::vector<Value> elements;
  elements.reserve(dict_.dict().size());
  for (const auto& [key, value] : dict_.dict().entries()) {
    elements.push_back(part_ == Part::kKeys ? key : part_ == Part::kValues ? value : heap.Tuple({key, value}));
  }
  return heap.NewSequence(std::move(elements));
}

absl::StatusOr<std::shared_ptr<const Sequence>> DictView::Iterate(Heap& heap) { return Elements(heap); }

absl::Status DictView::AppendRepr(Heap& heap, Text& out) const {
  ASSIGN_OR_RETURN(std::shared_ptr<const Sequence> elements, Elements(heap));
  out.Append(fmt::format("{}(", TypeName()), true);
  RETURN_IF_ERROR(chat_template::AppendRepr(heap, Value::List(std::move(elements)), out));
  out.Append(")", true);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Sequence>> RangeObject::Iterate(Heap& heap) {
  RETURN_IF_ERROR(heap.CheckElements(static_cast<uint64_t>(count_)));
  std::vector<Value> numbers;
  numbers.reserve(static_cast<size_t>(count_));
  for (int64_t i = 0; i < count_; ++i) numbers.push_back(Value::Integer(begin_ + i * step_));
  return heap.NewSequence(std::move(numbers));
}

absl::StatusOr<std::optional<Value>> RangeObject::Item(Heap&, const Value& key) {
  if (!key.is_whole()) return std::optional<Value>();
  const int64_t index = key.integer() < 0 ? key.integer() + count_ : key.integer();
  if (index < 0 || index >= count_) return std::optional<Value>();
  return std::optional<Value>(Value::Integer(begin_ + index * step_));
}

absl::StatusOr<Value> RangeObject::Slice(Heap& heap, int64_t begin, int64_t end, int64_t step, int64_t count) const {
  const auto number_at = [this](int64_t place) { return begin_ + static_cast<__int128>(place) * step_; };
  const __int128 new_step = static_cast<__int128>(step_) * step;
  for (const __int128 number : {number_at(begin), number_at(end), new_step}) {
    if (number > INT64_MAX || number < INT64_MIN) return InvalidArgument("an integer needs more than 64 bits");
  }
  return heap.OfObject(std::make_shared<RangeObject>(static_cast<int64_t>(number_at(begin)),
                                                     static_cast<int64_t>(number_at(end)),
                                                     static_cast<int64_t>(new_step), count));
}

absl::StatusOr<std::optional<Value>> RangeObject::Attribute(Heap&, const Value&, std::string_view name) {
  if (name == "start") return std::optional<Value>(Value::Integer(begin_));
  if (name == "stop") return std::optional<Value>(Value::Integer(end_));
  if (name == "step") return std::optional<Value>(Value::Integer(step_));
  return std::optional<Value>();
}

absl::StatusOr<bool> RangeObject::Equals(Heap&, const Object& other) const {
  const auto* range = dynamic_cast<const RangeObject*>(&other);
  return range != nullptr && range->count_ == count_ &&
         (count_ == 0 || (range->begin_ == begin_ && (count_ == 1 || range->step_ == step_)));
}

absl::Status RangeObject::AppendRepr(Heap&, Text& out) const {
  out.Append(
      step_ == 1 ? fmt::format("range({}, {})", begin_, end_) : fmt::format("range({}, {}, {})", begin_, end_, step_),
      true);
  return absl::OkStatus();
}

absl::Status Namespace::Set(Heap& heap, std::string_view name, Value value) {
  // The values are not part of this object's depth, as they change: what a namespace holds is not walked by recursion.
  const auto found = std::find_if(names_.begin(), names_.end(), [name](const auto& row) { return row.first == name; });
  if (found != names_.end()) {
    found->second = std::move(value);
    return absl::OkStatus();
  }
  heap.Allocate(sizeof(names_[0]) + name.size());
  names_.emplace_back(name, std::move(value));
  return heap.Step();
}

absl::StatusOr<std::optional<Value>> Namespace::Attribute(Heap& heap, const Value&, std::string_view name) {
  RETURN_IF_ERROR(heap.Step(names_.size() / 8));
  for (const auto& [own, value] : names_) {
    if (own == name) return std::optional<Value>(value);
  }
  return std::optional<Value>();
}

absl::Status Namespace::AppendRepr(Heap& heap, Text& out) const {
  Dict dict;
  for (const auto& [name, value] : names_) dict.SetNew(heap.String(name), value);
  out.Append("<Namespace ", true);
  RETURN_IF_ERROR(chat_template::AppendRepr(heap, heap.OfDict(std::move(dict)), out));
  out.Append(">", true);
  return absl::OkStatus();
}

Cycler::Cycler(std::vector<Value> values) : values_(std::move(values)) {
  for (const Value& value : values_) depth = std::max(depth, value.depth() + 1);
}

absl::StatusOr<std::optional<Value>> Cycler::Attribute(Heap& heap, const Value& self, std::string_view name) {
  if (name == "current") return std::optional<Value>(Current());
  if (const Builtin* method = FindBuiltin(kCyclerMethods, name)) {
    return std::optional<Value>(heap.OfObject(std::make_shared<BuiltinFunction>(*method, self)));
  }
  return std::optional<Value>();
}

Value Cycler::Next() {
  Value value = Current();
  at_ = (at_ + 1) % values_.size();
  return value;
}

absl::StatusOr<Value> Joiner::Call(Heap& heap, const Arguments& arguments) {
  if (!arguments.positional.empty() || !arguments.named.empty()) return InvalidArgument("joiner() takes no arguments");
  if (std::exchange(used_, true)) return separator_;
  return heap.String("");
}

}  // namespace inferd::chat_template
