// The variables of a render, in scopes: loops, macros and blocks see those around them, and what they set is theirs.
//
//   Scope& inner = scopes.Enter(outer);
//   inner.Set(symbol, value);
//   scopes.Leave(inner);   // used again, unless a macro that was defined in it needs it
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "engine/template/ast.h"
#include "engine/template/heap.h"

namespace inferd::chat_template {

class Scope {
 public:
  const Value* Find(Symbol symbol) const {
    for (const auto& [name, value] : variables_) {
      if (name == symbol) return &value;
    }
    return nullptr;
  }
  void Set(Symbol symbol, Value value) {
    for (auto& [name, old] : variables_) {
      if (name == symbol) {
        old = std::move(value);
        return;
      }
    }
    variables_.emplace_back(symbol, std::move(value));
  }
  Scope* parent() const { return parent_; }
  // A macro or a recursive loop refers to this scope and those around it: they must outlive their blocks.
  void Capture() {
    for (Scope* scope = this; scope != nullptr && !scope->captured_; scope = scope->parent_) scope->captured_ = true;
  }

 private:
  friend class Scopes;
  std::vector<std::pair<Symbol, Value>> variables_;
  Scope* parent_ = nullptr;
  bool captured_ = false;
};

class Scopes {
 public:
  explicit Scopes(Heap& heap) : heap_(heap) {}

  Scope& root() { return root_; }
  Scope& Enter(Scope& parent) {
    if (free_.empty()) {
      heap_.Allocate(sizeof(Scope) + 2 * sizeof(std::pair<Symbol, Value>));
      all_.push_back(std::make_unique<Scope>());
      free_.push_back(all_.back().get());
    }
    Scope& scope = *free_.back();
    free_.pop_back();
    scope.parent_ = &parent;
    return scope;
  }
  void Leave(Scope& scope) {
    if (scope.captured_) return;
    scope.variables_.clear();
    free_.push_back(&scope);
  }

 private:
  Heap& heap_;
  Scope root_;
  std::vector<std::unique_ptr<Scope>> all_;
  std::vector<Scope*> free_;
};

}  // namespace inferd::chat_template
