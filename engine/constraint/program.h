// A grammar as an automaton with a stack: positions, and steps between them that take a byte, call a rule or return.
//
//   ASSIGN_OR_RETURN(std::shared_ptr<const Program> program, Program::Create(grammar));
//
// Bytes that no rule tells apart are one class; each control token that a rule names has a class of its own.
// Immutable; Machine runs it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/constraint/grammar.h"

namespace inferd::constraint {

constexpr size_t kMostPositions = 300'000;
// Repetitions of something that may be empty are written out.
constexpr uint32_t kMostEmptyRepetitions = 1000;

struct Position {
  enum class Kind : uint8_t {
    kTake,    // one symbol of the set `arg`, then `next`
    kSplit,   // `next` or `arg`
    kCall,    // the rule `arg`, then `next`
    kRepeat,  // the rule `arg`, `least` to `most` times, then `next`; the rule is never empty
    kReturn,
    kFail,
  };
  Kind kind;
  bool tail = false;  // of a call: nothing but a return comes after it
  int32_t next = -1;
  int32_t arg = -1;
  uint32_t least = 0, most = 0;
};

class Program {
 public:
  struct Rule {
    int32_t start = -1;
    int32_t rank = 0;  // a rule that begins with another has the smaller one
    bool nullable = false;
  };

  // Whether any text is complete.
  static bool TakesAText(const Grammar& grammar);
  // INVALID_ARGUMENT: the grammar is too large, takes no text, or a rule begins with itself.
  static absl::StatusOr<std::shared_ptr<const Program>> Create(const Grammar& grammar);

  const std::vector<Position>& positions() const { return positions_; }
  const Rule& rule(int32_t rule) const { return rules_[static_cast<size_t>(rule)]; }
  // The rule of each rank.
  const std::vector<int32_t>& ranked() const { return ranked_; }
  int32_t root() const { return root_; }
  int32_t classes() const { return classes_; }
  int32_t ClassOf(unsigned char byte) const { return class_of_[byte]; }
  bool SetHas(int32_t set, int32_t symbol_class) const {
    return members_[static_cast<size_t>(set) * static_cast<size_t>(classes_) + static_cast<size_t>(symbol_class)] != 0;
  }
  // Control tokens that rules name, and their classes.
  const std::vector<int32_t>& marker_tokens() const { return marker_tokens_; }
  int32_t MarkerClass(size_t marker) const { return first_marker_class_ + static_cast<int32_t>(marker); }

 private:
  friend class ProgramWriter;
  Program() = default;

  std::vector<Position> positions_;
  std::vector<Rule> rules_;
  std::vector<int32_t> ranked_;
  int32_t root_ = 0;
  int32_t classes_ = 0, first_marker_class_ = 0;
  std::array<int32_t, 256> class_of_{};
  std::vector<uint8_t> members_;  // [sets and markers][classes]
  std::vector<int32_t> marker_tokens_;
};

}  // namespace inferd::constraint
