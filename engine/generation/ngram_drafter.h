// Guesses from the text itself: what followed the last tokens where they stood before (Saxena 2023, "prompt lookup
// decoding"). Good for answers that repeat their prompt: edits, quotes, summaries.
//
//   NgramDrafter drafter;
#pragma once

#include <map>

#include "absl/container/flat_hash_map.h"
#include "engine/generation/drafter.h"

namespace inferd::engine {

class NgramDrafter : public Drafter {
 public:
  std::vector<std::vector<int32_t>> Draft(std::span<const Wanted> wanted) override;
  void Forget(scheduler::SequenceId id) override { texts_.erase(id); }

 private:
  // Where each pair and each triple of tokens stood last: the place after it.
  struct Text {
    size_t indexed = 0;  // tokens whose n-grams are known
    absl::flat_hash_map<uint64_t, uint32_t> after_pair, after_triple;
  };
  static std::vector<int32_t> DraftOne(const Wanted& wanted, Text& text);

  std::map<scheduler::SequenceId, Text> texts_;
};

}  // namespace inferd::engine
