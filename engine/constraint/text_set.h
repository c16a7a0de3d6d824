// A regular set of texts as a deterministic automaton over bytes: what both of two patterns match, what one matches and
// another does not, and how long it may be.
//
//   ASSIGN_OR_RETURN(const TextSet words, TextSet::Of(grammar));
//   ASSIGN_OR_RETURN(const TextSet short_ones, words.WithLength(1, 20));
//   if (!short_ones.empty()) ...
//
// Sets are UTF-8; lengths count characters. What would need more than kMostStates states is an error.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/constraint/grammar.h"

namespace inferd::constraint {

class TextSet {
 public:
  static constexpr size_t kMostStates = 8000;

  // The texts that the grammar's root accepts. INVALID_ARGUMENT: too many states.
  static absl::StatusOr<TextSet> Of(const Grammar& grammar);
  // All texts of characters.
  static TextSet Any();
  static absl::StatusOr<TextSet> Of(const std::vector<std::string>& texts);

  // INVALID_ARGUMENT: too many states.
  absl::StatusOr<TextSet> Intersect(const TextSet& other) const;
  absl::StatusOr<TextSet> Minus(const TextSet& other) const;
  // Of characters. `most` is lowered where the automaton would be too large otherwise.
  absl::StatusOr<TextSet> WithLength(uint32_t least, uint32_t most) const;
  // Decimal integers that are a multiple; of a set of decimal integers.
  absl::StatusOr<TextSet> MultiplesOf(uint32_t divisor) const;

  // The same set with as few states as possible.
  TextSet Minimal() const;

  bool empty() const { return next_.empty(); }
  bool Has(std::string_view text) const;
  size_t states() const { return accepts_.size(); }

  // The set as an expression; `spell` says how a set of bytes is written.
  ExprId Write(Grammar& grammar, const std::function<ExprId(const ByteSet&)>& spell) const;

 private:
  // Bytes that a step may tell apart, as a class of each.
  using Classes = std::array<uint8_t, 256>;
  struct Steps;  // of the second factor of a product

  static Classes Together(const Classes& a, const Classes& b);
  absl::StatusOr<TextSet> Product(const Classes& classes, const Steps& other) const;
  int32_t Next(int32_t state, unsigned char byte) const {
    return next_[static_cast<size_t>(state) * classes_ + class_of_[byte]];
  }
  // Without states from which no text is completed.
  void Trim();

  Classes class_of_{};
  size_t classes_ = 1;
  std::vector<int32_t> next_;  // [states][classes]; -1: no text begins so. State 0 is the first.
  std::vector<uint8_t> accepts_;
};

}  // namespace inferd::constraint
