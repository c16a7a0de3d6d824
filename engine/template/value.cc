#include "engine/template/value.h"

#include <algorithm>

#include "engine/template/dict.h"
#include "engine/template/heap.h"
#include "engine/template/object.h"

namespace inferd::chat_template {
namespace {

uint32_t DeepestOf(const std::vector<Value>& items) {
  uint32_t depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  return depth;
}

}  // namespace

Charge::Charge(Heap& heap, size_t bytes) : heap_(&heap), bytes_(bytes) { heap.Allocate(bytes); }
Charge::~Charge() {
  if (heap_ != nullptr) heap_->Release(bytes_);
}

UndefinedBox::UndefinedBox(std::string message_in, Heap& heap)
    : message(std::move(message_in)), charge(heap, sizeof(UndefinedBox) + message.capacity()) {}

StringBox::StringBox(Text text_in, bool markup_in, Heap& heap)
    : text(std::move(text_in)), markup(markup_in), charge(heap, sizeof(StringBox) + text.memory_bytes()) {}

Sequence::Sequence(std::vector<Value> items_in, Heap& heap)
    : items(std::move(items_in)),
      depth(DeepestOf(items) + 1),
      charge(heap, sizeof(Sequence) + items.capacity() * sizeof(Value)) {}

Value Value::Bool(bool value) {
  Value result(Kind::kBool);
  result.scalar_.integer = value ? 1 : 0;
  return result;
}

Value Value::Integer(int64_t value) {
  Value result(Kind::kInteger);
  result.scalar_.integer = value;
  return result;
}

Value Value::Float(double value) {
  Value result(Kind::kFloat);
  result.scalar_.real = value;
  return result;
}

Value Value::Constant(Text text) { return String(std::make_shared<const StringBox>(std::move(text), false)); }

const Dict& Value::dict() const { return *static_cast<const Dict*>(box_.get()); }
std::shared_ptr<const Dict> Value::shared_dict() const { return std::static_pointer_cast<const Dict>(box_); }

std::string Value::UndefinedMessage() const {
  return box_ == nullptr ? "the value is undefined" : static_cast<const UndefinedBox*>(box_.get())->message;
}

uint32_t Value::depth() const {
  switch (kind_) {
    case Kind::kList:
    case Kind::kTuple:
      return static_cast<const Sequence*>(box_.get())->depth;
    case Kind::kDict:
      return dict().depth();
    case Kind::kObject:
      return object().depth;
    default:
      return 0;
  }
}

std::string Value::TypeName() const {
  switch (kind_) {
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInteger:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return string().markup ? "Markup" : "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kObject:
      return std::string(object().TypeName());
  }
  return "object";
}

}  // namespace inferd::chat_template
