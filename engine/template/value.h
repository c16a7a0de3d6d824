// A value of the template language, with Python's kinds. Values are cheap to copy: big ones share an immutable box.
//
//   Value greeting = heap.String("Hello");        // boxes are made by the heap, which counts their memory (heap.h)
//   if (greeting.is_string()) Print(greeting.text().bytes());
//   Value none = Value::None(), three = Value::Integer(3);
//
// Lists and dicts never change after they are made (the sandbox forbids it), so there are no cycles but those through
// objects that the heap keeps until the end of the render (namespaces, loops).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/template/text.h"

namespace inferd::chat_template {

class Dict;
class Heap;
class Object;
class Value;

enum class Kind : uint8_t { kUndefined, kNone, kBool, kInteger, kFloat, kString, kList, kTuple, kDict, kObject };

// Memory that a box holds, given back to the heap when the box dies.
class Charge {
 public:
  Charge() = default;  // counts for no heap: constants of the parsed template
  Charge(Heap& heap, size_t bytes);
  ~Charge();
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

 private:
  Heap* heap_ = nullptr;
  size_t bytes_ = 0;
};

struct UndefinedBox {
  UndefinedBox(std::string message_in, Heap& heap);
  std::string message;  // why it is undefined: the error of its wrong use
  Charge charge;
};

struct StringBox {
  StringBox(Text text_in, bool markup_in) : text(std::move(text_in)), markup(markup_in) {}
  StringBox(Text text_in, bool markup_in, Heap& heap);
  Text text;
  bool markup;  // escaped for HTML: Python's Markup
  Charge charge;
};

struct Sequence {
  Sequence(std::vector<Value> items_in, Heap& heap);
  std::vector<Value> items;
  uint32_t depth;
  bool group = false;  // of the filter groupby: a tuple whose parts are also .grouper and .list
  Charge charge;
};

class Value {
 public:
  Value() = default;  // undefined
  static Value Undefined(std::shared_ptr<const UndefinedBox> box) { return Value(Kind::kUndefined, std::move(box)); }
  static Value None() { return Value(Kind::kNone); }
  static Value Bool(bool value);
  static Value Integer(int64_t value);
  static Value Float(double value);
  static Value Constant(Text text);  // a string of the template's source
  static Value String(std::shared_ptr<const StringBox> box) { return Value(Kind::kString, std::move(box)); }
  static Value List(std::shared_ptr<const Sequence> box) { return Value(Kind::kList, std::move(box)); }
  static Value Tuple(std::shared_ptr<const Sequence> box) { return Value(Kind::kTuple, std::move(box)); }
  static Value OfDict(std::shared_ptr<const Dict> box) { return Value(Kind::kDict, std::move(box)); }
  static Value OfObject(std::shared_ptr<Object> object) { return Value(Kind::kObject, std::move(object)); }

  Kind kind() const { return kind_; }
  bool is_undefined() const { return kind_ == Kind::kUndefined; }
  bool is_none() const { return kind_ == Kind::kNone; }
  bool is_bool() const { return kind_ == Kind::kBool; }
  bool is_integer() const { return kind_ == Kind::kInteger; }
  bool is_float() const { return kind_ == Kind::kFloat; }
  bool is_string() const { return kind_ == Kind::kString; }
  bool is_list() const { return kind_ == Kind::kList; }
  bool is_tuple() const { return kind_ == Kind::kTuple; }
  bool is_sequence() const { return is_list() || is_tuple(); }
  bool is_dict() const { return kind_ == Kind::kDict; }
  bool is_object() const { return kind_ == Kind::kObject; }
  bool is_whole() const { return is_integer() || is_bool(); }  // Python's int, of which bool is a kind
  bool is_number() const { return is_whole() || is_float(); }

  // Each of these is for its own kinds alone.
  bool boolean() const { return scalar_.integer != 0; }
  int64_t integer() const { return scalar_.integer; }  // also of a bool: 0 or 1
  double number() const { return is_float() ? scalar_.real : static_cast<double>(scalar_.integer); }
  const StringBox& string() const { return *static_cast<const StringBox*>(box_.get()); }
  const Text& text() const { return string().text; }
  const std::string& bytes() const { return string().text.bytes(); }
  const std::vector<Value>& items() const { return static_cast<const Sequence*>(box_.get())->items; }
  std::shared_ptr<const Sequence> sequence() const { return std::static_pointer_cast<const Sequence>(box_); }
  const Dict& dict() const;
  std::shared_ptr<const Dict> shared_dict() const;
  Object& object() const { return *static_cast<Object*>(const_cast<void*>(box_.get())); }
  std::string UndefinedMessage() const;
  const void* identity() const { return box_.get(); }

  uint32_t depth() const;        // of nested containers; 0 for all else
  std::string TypeName() const;  // Python's name: "str", "NoneType", ...

 private:
  explicit Value(Kind kind) : kind_(kind) {}
  Value(Kind kind, std::shared_ptr<const void> box) : kind_(kind), box_(std::move(box)) {}

  Kind kind_ = Kind::kUndefined;
  union {
    int64_t integer;
    double real;
  } scalar_ = {0};
  std::shared_ptr<const void> box_;
};

}  // namespace inferd::chat_template
