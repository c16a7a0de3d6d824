// Which of the prompts that are being computed has a beginning in common with a new one: the new one waits for it and
// takes the pages from the prefix cache, or from the other sequence itself, instead of computing them a second time.
//
//   std::optional<SharedPrefix> shared = leaders.Join(id, tokens, salt);   // whole pages, or all but the last token
//   leaders.Leave(id);                                                     // its prompt is computed, or it has ended
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/scheduler/sequence.h"

namespace inferd::engine {

class PrefixLeaders {
 public:
  std::optional<scheduler::SharedPrefix> Join(scheduler::SequenceId id, std::span<const int32_t> tokens, uint64_t salt);
  void Leave(scheduler::SequenceId id);
  // Its beginning is the heir's from now on.
  void HandOver(const scheduler::Heir& heir);

 private:
  struct Led {
    uint64_t hash;
    size_t tokens;
  };

  // The first sequence of each beginning, by a hash of its pages. A false match costs waiting, not correctness.
  absl::flat_hash_map<uint64_t, scheduler::SequenceId> leaders_;
  absl::flat_hash_map<scheduler::SequenceId, std::vector<Led>> led_;
};

}  // namespace inferd::engine
