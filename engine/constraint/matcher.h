// A constraint on one choice: what it has of the text so far, and what may come next.
//
//   Matcher matcher(masks, texts);
//   ASSIGN_OR_RETURN(Matcher::Allowed allowed, matcher.Next());      // before each draw
//   allowed.tokens->Apply(allowed.ends ? end_of_generation : {}, logits);
//   RETURN_IF_ERROR(matcher.Accept(token));
//   if (matcher.complete()) ...                                      // nothing more can come
//
// Of the thread of its TokenMasks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/base/warning.h"
#include "engine/constraint/token_masks.h"
#include "engine/sampling/token_texts.h"

namespace inferd::constraint {

// A constraint that is ready for a model; choices and requests share it.
struct Constraint {
  std::shared_ptr<TokenMasks> masks;
  std::shared_ptr<const sampling::TokenTexts> texts;
  // What of the wish it does not keep.
  std::shared_ptr<const std::vector<Warning>> warnings;
};

class Matcher {
 public:
  struct Allowed {
    const TokenMask* tokens;  // valid until the next call of any matcher of these masks
    bool ends;                // the text may end here
  };

  explicit Matcher(Constraint constraint);
  ~Matcher() { constraint_.masks->Trim(); }
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  // RESOURCE_EXHAUSTED as TokenMasks::MaskOf.
  absl::StatusOr<Allowed> Next();
  // INVALID_ARGUMENT: the constraint does not allow the token, and stays as it was. RESOURCE_EXHAUSTED: as Next.
  absl::Status Accept(int32_t token);
  bool accepts();
  bool complete();  // it accepts, and nothing more can come
  // How many of these tokens the constraint allows, one after the other.
  size_t CountAllowed(std::span<const int32_t> tokens);

 private:
  void Refresh();
  Machine::StateId Advance(Machine::StateId state, int32_t token) {
    return constraint_.masks->Advance(state, token, constraint_.texts->text(token));
  }

  Constraint constraint_;
  std::vector<int32_t> tokens_;  // from which the state comes back when the masks forget theirs
  uint64_t epoch_;
  Machine::StateId state_;
};

}  // namespace inferd::constraint
