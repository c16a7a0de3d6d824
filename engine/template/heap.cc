#include "engine/template/heap.h"

#include "config/base/status.h"

namespace inferd::chat_template {

Heap::~Heap() {
  // Kept objects hold values that point at each other without owning: their order does not matter.
  kept_.clear();
}

absl::Status Heap::Exceeded() const {
  if (too_deep_) return ResourceExhausted("values are nested more than {} deep", kMaxValueDepth);
  if (steps_ > limits_.steps) return ResourceExhausted("the template takes more than {} steps", limits_.steps);
  return ResourceExhausted("the template's values take more than {} bytes", limits_.memory_bytes);
}

absl::Status Heap::CheckSize(uint64_t bytes) const {
  if (bytes <= limits_.string_bytes) return absl::OkStatus();
  return ResourceExhausted("a string of {} bytes passes the limit of {}", bytes, limits_.string_bytes);
}

absl::Status Heap::CheckString(uint64_t bytes) {
  RETURN_IF_ERROR(CheckSize(bytes));
  return Step(1 + bytes / 64);
}

absl::Status Heap::CheckElements(uint64_t count) {
  if (count > limits_.memory_bytes / sizeof(Value)) {
    return ResourceExhausted("a sequence of {} elements passes the limit of {} bytes", count, limits_.memory_bytes);
  }
  return Step(count);
}

Value Heap::Undefined(std::string message) {
  return Value::Undefined(std::make_shared<const UndefinedBox>(std::move(message), *this));
}

Value Heap::String(Text text, bool markup) {
  return Value::String(std::make_shared<const StringBox>(std::move(text), markup, *this));
}

std::shared_ptr<const Sequence> Heap::NewSequence(std::vector<Value> items) {
  auto sequence = std::make_shared<const Sequence>(std::move(items), *this);
  NoteDepth(sequence->depth);
  return sequence;
}

Value Heap::List(std::vector<Value> items) { return Value::List(NewSequence(std::move(items))); }
Value Heap::Tuple(std::vector<Value> items) { return Value::Tuple(NewSequence(std::move(items))); }

Value Heap::Group(Value grouper, Value list) {
  auto sequence = std::make_shared<Sequence>(std::vector<Value>{std::move(grouper), std::move(list)}, *this);
  sequence->group = true;
  NoteDepth(sequence->depth);
  return Value::Tuple(std::move(sequence));
}

Value Heap::OfDict(Dict dict) {
  auto box = std::make_shared<Dict>(std::move(dict));
  box->CountMemory(*this);
  NoteDepth(box->depth());
  return Value::OfDict(std::move(box));
}

Value Heap::OfObject(std::shared_ptr<Object> object) {
  NoteDepth(object->depth);
  return Value::OfObject(std::move(object));
}

Value Heap::Keep(std::unique_ptr<Object> object) {
  constexpr size_t kTypicalBytes = 256;  // never given back before the end, so an estimate does
  Allocate(kTypicalBytes);
  Object* kept = object.get();
  kept_.push_back(std::move(object));
  return Value::OfObject(std::shared_ptr<Object>(std::shared_ptr<Object>(), kept));
}

absl::Status Heap::Level::Check() const {
  if (heap_.depth_ > heap_.limits_.depth) {
    return ResourceExhausted("the template is nested more than {} deep", heap_.limits_.depth);
  }
  return absl::OkStatus();
}

}  // namespace inferd::chat_template
