#include "engine/constraint/matcher.h"

#include <utility>

#include "config/base/status.h"

namespace inferd::constraint {

Matcher::Matcher(Constraint constraint)
    : constraint_(std::move(constraint)),
      epoch_(constraint_.masks->epoch()),
      state_(constraint_.masks->machine().start()) {}

void Matcher::Refresh() {
  if (epoch_ == constraint_.masks->epoch()) return;
  epoch_ = constraint_.masks->epoch();
  state_ = constraint_.masks->machine().start();
  for (int32_t token : tokens_) state_ = Advance(state_, token);
}

absl::StatusOr<Matcher::Allowed> Matcher::Next() {
  constraint_.masks->Trim();
  Refresh();
  absl::StatusOr<const TokenMask*> mask = constraint_.masks->MaskOf(state_);
  if (!mask.ok()) return mask.status();
  return Allowed{.tokens = *mask, .ends = constraint_.masks->machine().Accepts(state_)};
}

absl::Status Matcher::Accept(int32_t token) {
  Refresh();
  const Machine::StateId next = Advance(state_, token);
  if (next == Machine::kDead) {
    if (constraint_.masks->machine().exhausted()) return TooAmbiguous();
    return InvalidField("constraint", "token {} is not allowed here", token);
  }
  state_ = next;
  tokens_.push_back(token);
  return absl::OkStatus();
}

bool Matcher::accepts() {
  Refresh();
  return constraint_.masks->machine().Accepts(state_);
}

bool Matcher::complete() { return accepts() && !constraint_.masks->machine().GoesOn(state_); }

size_t Matcher::CountAllowed(std::span<const int32_t> tokens) {
  Refresh();
  Machine::StateId state = state_;
  size_t count = 0;
  for (; count < tokens.size(); ++count) {
    state = Advance(state, tokens[count]);
    if (state == Machine::kDead) break;
  }
  return count;
}

}  // namespace inferd::constraint
