// A constraint over one model's tokens: states of the automaton, and which tokens each allows.
//
//   TokenMasks masks(program, trie);                           // kept: what one request has computed serves the next
//   ASSIGN_OR_RETURN(const TokenMask* mask, masks.MaskOf(masks.machine().start()));
//
// A mask is a walk over the tree of tokens. What a rule allows by itself is found once for the rule, whatever comes
// after it; only for tokens that go beyond the rule's end, the walk goes on with what follows. Of one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "engine/constraint/machine.h"
#include "engine/constraint/token_mask.h"
#include "engine/constraint/token_trie.h"

namespace inferd::constraint {

// RESOURCE_EXHAUSTED.
absl::Status TooAmbiguous();

class TokenMasks {
 public:
  TokenMasks(std::shared_ptr<const Program> program, std::shared_ptr<const TokenTrie> trie);

  Machine& machine() { return *machine_; }
  const TokenTrie& trie() const { return *trie_; }
  // The mask of a state; valid until the next call. RESOURCE_EXHAUSTED: the grammar is so ambiguous that it takes too
  // much work.
  absl::StatusOr<const TokenMask*> MaskOf(Machine::StateId state);
  // The state behind a token with this text, or behind a control token that the constraint names; kDead: not allowed.
  Machine::StateId Advance(Machine::StateId state, int32_t token, std::string_view text);

  // Forgets all states where they have become too many; they are of no more use then, as the epoch tells.
  void Trim();
  uint64_t epoch() const { return epoch_; }

 private:
  // What a rule's inside allows by itself, and the nodes of the tree at which the rule may end.
  struct Local {
    TokenMask mask;
    std::vector<int32_t> exits;
  };

  const Local& LocalOf(Machine::StateId local);
  void AddBeyond(const Local& local, Machine::StateId after);
  void WalkBelow(int32_t node, Machine::StateId state);
  void Allow(int32_t node);

  const std::shared_ptr<const Program> program_;
  const std::shared_ptr<const TokenTrie> trie_;
  std::unique_ptr<Machine> machine_;
  uint64_t epoch_ = 0;
  absl::flat_hash_map<Machine::StateId, std::unique_ptr<Local>> locals_;
  absl::flat_hash_map<Machine::StateId, std::unique_ptr<TokenMask>> masks_;
  size_t mask_bytes_ = 0;
  std::vector<uint64_t> bits_;          // scratch: the mask that is made
  std::vector<Machine::StateId> path_;  // scratch: states of the nodes above
};

}  // namespace inferd::constraint
