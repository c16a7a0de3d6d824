// The objects that run parts of the template when they are used: macros, loops and blocks.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/template/ast.h"
#include "engine/template/interpreter.h"
#include "engine/template/object.h"

namespace inferd::chat_template {

class Macro final : public Object {
 public:
  Macro(Interpreter& interpreter, const MacroDefinition& definition, Scope& scope)
      : interpreter_(interpreter), definition_(definition), scope_(scope) {}
  std::string_view TypeName() const override { return "Macro"; }
  bool callable() const override { return true; }
  absl::StatusOr<Value> Call(Heap&, const Arguments& arguments) override {
    return interpreter_.CallMacro(definition_, scope_, arguments);
  }
  absl::StatusOr<std::optional<Value>> Attribute(Heap& heap, const Value& self, std::string_view name) override;
  absl::Status AppendRepr(Heap& heap, Text& out) const override;

 private:
  Interpreter& interpreter_;
  const MacroDefinition& definition_;
  Scope& scope_;
};

// `self`: the template's blocks by name, each callable.
class Blocks final : public Object {
 public:
  explicit Blocks(Interpreter& interpreter) : interpreter_(interpreter) {}
  std::string_view TypeName() const override { return "TemplateReference"; }
  absl::StatusOr<std::optional<Value>> Attribute(Heap& heap, const Value& self, std::string_view name) override;

 private:
  Interpreter& interpreter_;
};

// `loop`: the elements of a for statement, fetched one by one through its condition, and the place among them.
class LoopObject final : public Object {
 public:
  LoopObject(Interpreter& interpreter, const Statement& statement, Scope& outer,
             std::shared_ptr<const Sequence> elements, uint32_t recursion)
      : interpreter_(interpreter),
        statement_(statement),
        outer_(outer),
        elements_(std::move(elements)),
        recursion_(recursion) {}

  // Moves to the next element; nullopt at the end.
  absl::StatusOr<std::optional<Value>> Advance(Heap& heap);
  void Finish() { elements_ = nullptr; }  // lets the elements go

  std::string_view TypeName() const override { return "LoopContext"; }
  bool callable() const override { return true; }
  absl::StatusOr<Value> Call(Heap& heap, const Arguments& arguments) override;
  absl::StatusOr<std::optional<Value>> Attribute(Heap& heap, const Value& self, std::string_view name) override;
  absl::StatusOr<Value> Cycle(const Arguments& arguments) const;
  absl::StatusOr<Value> Changed(Heap& heap, const Arguments& arguments);

 private:
  absl::StatusOr<std::optional<Value>> Fetch(Heap& heap);
  absl::StatusOr<bool> HasNext(Heap& heap);
  absl::StatusOr<int64_t> LengthNow(Heap& heap);

  Interpreter& interpreter_;
  const Statement& statement_;
  Scope& outer_;
  std::shared_ptr<const Sequence> elements_;
  const uint32_t recursion_;
  size_t fetched_ = 0;          // of elements_
  std::deque<Value> upcoming_;  // fetched ahead of their turn
  int64_t index0_ = -1;
  std::optional<int64_t> length_;
  Value previous_;
  Value current_;
  std::optional<std::vector<Value>> changed_;
};

}  // namespace inferd::chat_template
