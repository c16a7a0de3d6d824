// The objects of the language that hold values: iterators, dict views, ranges, namespaces, cyclers and joiners.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/template/object.h"

namespace inferd::chat_template {

// What Python's generators are: elements that can be iterated once. `type_name` is what Python would call it.
class Iterator final : public Object {
 public:
  explicit Iterator(std::shared_ptr<const Sequence> elements, std::string_view type_name = "generator")
      : elements_(std::move(elements)), type_name_(type_name) {
    depth = elements_->depth + 1;
  }
  static Value Make(Heap& heap, std::vector<Value> elements, std::string_view type_name = "generator");
  std::string_view TypeName() const override { return type_name_; }
  bool iterable() const override { return true; }
  absl::StatusOr<std::shared_ptr<const Sequence>> Iterate(Heap& heap) override;
  std::optional<Value> Next();

 private:
  std::shared_ptr<const Sequence> elements_;
  size_t next_ = 0;
  const std::string_view type_name_;
};

// dict.keys(), .values() and .items().
class DictView final : public Object {
 public:
  enum class Part : uint8_t { kKeys, kValues, kItems };
  DictView(Value dict, Part part);
  std::string_view TypeName() const override;
  std::optional<size_t> Length() const override;
  bool iterable() const override { return true; }
  absl::StatusOr<std::shared_ptr<const Sequence>> Iterate(Heap& heap) override;
  bool reversible() const override { return true; }
  absl::Status AppendRepr(Heap& heap, Text& out) const override;

 private:
  absl::StatusOr<std::shared_ptr<const Sequence>> Elements(Heap& heap) const;
  const Value dict_;
  const Part part_;
};

class RangeObject final : public Object {
 public:
  RangeObject(int64_t begin, int64_t end, int64_t step, int64_t count)
      : begin_(begin), end_(end), step_(step), count_(count) {}
  std::string_view TypeName() const override { return "range"; }
  std::optional<size_t> Length() const override { return static_cast<size_t>(count_); }
  bool iterable() const override { return true; }
  absl::StatusOr<std::shared_ptr<const Sequence>> Iterate(Heap& heap) override;
  absl::StatusOr<std::optional<Value>> Item(Heap& heap, const Value& key) override;
  absl::StatusOr<std::optional<Value>> Attribute(Heap& heap, const Value& self, std::string_view name) override;
  bool reversible() const override { return true; }
  // The range of the elements at begin, begin + step, ... before `end`: places in this one.
  absl::StatusOr<Value> Slice(Heap& heap, int64_t begin, int64_t end, int64_t step, int64_t count) const;
  absl::StatusOr<bool> Equals(Heap& heap, const Object& other) const override;
  absl::Status AppendRepr(Heap& heap, Text& out) const override;

 private:
  const int64_t begin_;
  const int64_t end_;
  const int64_t step_;
  const int64_t count_;
};

// The one kind of value that a template can change: {% set names.count = 1 %}.
class Namespace final : public Object {
 public:
  std::string_view TypeName() const override { return "Namespace"; }
  absl::Status Set(Heap& heap, std::string_view name, Value value);
  absl::StatusOr<std::optional<Value>> Attribute(Heap& heap, const Value& self, std::string_view name) override;
  absl::Status AppendRepr(Heap& heap, Text& out) const override;

 private:
  std::vector<std::pair<std::string, Value>> names_;
};

class Cycler final : public Object {
 public:
  explicit Cycler(std::vector<Value> values);
  std::string_view TypeName() const override { return "Cycler"; }
  absl::StatusOr<std::optional<Value>> Attribute(Heap& heap, const Value& self, std::string_view name) override;
  Value Current() const { return values_[at_]; }
  Value Next();
  void Reset() { at_ = 0; }

 private:
  const std::vector<Value> values_;  // not empty
  size_t at_ = 0;
};

// Gives nothing the first time it is called, then its separator.
class Joiner final : public Object {
 public:
  explicit Joiner(Value separator) : separator_(std::move(separator)) { depth = separator_.depth() + 1; }
  std::string_view TypeName() const override { return "Joiner"; }
  bool callable() const override { return true; }
  absl::StatusOr<Value> Call(Heap& heap, const Arguments& arguments) override;

 private:
  const Value separator_;
  bool used_ = false;
};

}  // namespace inferd::chat_template
