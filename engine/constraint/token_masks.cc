#include "engine/constraint/token_masks.h"

#include <algorithm>
#include <utility>

#include "config/base/status.h"

namespace inferd::constraint {
namespace {

constexpr size_t kMostMachineBytes = 8 << 20, kMostMaskBytes = 8 << 20;
constexpr int64_t kMostWork = 1'000'000;  // for one mask: a tenth of a second

}  // namespace

absl::Status TooAmbiguous() {
  return ResourceExhausted("constraint: it is too ambiguous, its next tokens take too much work");
}

TokenMasks::TokenMasks(std::shared_ptr<const Program> program, std::shared_ptr<const TokenTrie> trie)
    : program_(std::move(program)),
      trie_(std::move(trie)),
      machine_(std::make_unique<Machine>(program_)),
      bits_((static_cast<size_t>(trie_->vocabulary_size()) + 63) / 64),
      path_(trie_->longest() + 1) {}

void TokenMasks::Trim() {
  if (machine_->memory_bytes() <= kMostMachineBytes && mask_bytes_ <= kMostMaskBytes) return;
  locals_.clear();
  masks_.clear();
  mask_bytes_ = 0;
  machine_ = std::make_unique<Machine>(program_);
  ++epoch_;
}

absl::StatusOr<const TokenMask*> TokenMasks::MaskOf(Machine::StateId exact) {
  machine_->AllowWork(kMostWork);
  const Machine::StateId state = machine_->Clamped(exact, trie_->longest());
  std::unique_ptr<TokenMask>& mask = masks_[state];
  if (mask != nullptr) return mask.get();
  std::vector<const Local*> parts;
  std::vector<Machine::StateId> after;
  for (const Machine::Part& part : machine_->PartsOf(state)) {
    parts.push_back(&LocalOf(part.local));
    after.push_back(machine_->After(part.returns));
  }
  std::fill(bits_.begin(), bits_.end(), 0);
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i]->mask.AddTo(bits_);
    AddBeyond(*parts[i], after[i]);
  }
  for (size_t i = 0; i < program_->marker_tokens().size(); ++i) {
    const auto token = static_cast<size_t>(program_->marker_tokens()[i]);
    if (machine_->Next(state, program_->MarkerClass(i)) != Machine::kDead)
      bits_[token / 64] |= uint64_t{1} << (token % 64);
  }
  if (machine_->exhausted()) {
    locals_.clear();
    masks_.erase(state);
    return TooAmbiguous();
  }
  mask = std::make_unique<TokenMask>(TokenMask::Of(bits_, trie_->vocabulary_size()));
  mask_bytes_ += mask->memory_bytes();
  return mask.get();
}

const TokenMasks::Local& TokenMasks::LocalOf(Machine::StateId state) {
  std::unique_ptr<Local>& local = locals_[state];
  if (local != nullptr) return *local;
  local = std::make_unique<Local>();
  std::fill(bits_.begin(), bits_.end(), 0);
  path_[0] = state;
  for (int32_t node = 0; node < trie_->size();) {
    const TokenTrie::Node& at = trie_->node(node);
    const Machine::StateId next = machine_->Next(path_[at.depth - 1u], program_->ClassOf(at.byte));
    if (machine_->Leaves(next)) local->exits.push_back(node);
    if (!machine_->GoesOn(next)) {
      node = at.end;
      continue;
    }
    Allow(node);
    path_[at.depth] = next;
    ++node;
  }
  local->mask = TokenMask::Of(bits_, trie_->vocabulary_size());
  mask_bytes_ += local->mask.memory_bytes() + local->exits.size() * sizeof(int32_t);
  return *local;
}

// `after`: the state behind the rule's end.
void TokenMasks::AddBeyond(const Local& local, Machine::StateId after) {
  if (after == Machine::kDead) return;
  for (int32_t node : local.exits) {
    Allow(node);
    if (machine_->GoesOn(after)) WalkBelow(node, after);
  }
}

void TokenMasks::WalkBelow(int32_t above, Machine::StateId state) {
  const int32_t end = trie_->node(above).end;
  path_[trie_->node(above).depth] = state;
  for (int32_t node = above + 1; node < end;) {
    const TokenTrie::Node& at = trie_->node(node);
    const Machine::StateId next = machine_->Next(path_[at.depth - 1u], program_->ClassOf(at.byte));
    if (next == Machine::kDead) {
      node = at.end;
      continue;
    }
    Allow(node);
    path_[at.depth] = next;
    ++node;
  }
}

void TokenMasks::Allow(int32_t node) {
  for (int32_t token : trie_->tokens(node)) bits_[static_cast<size_t>(token) / 64] |= uint64_t{1} << (token % 64);
}

Machine::StateId TokenMasks::Advance(Machine::StateId state, int32_t token, std::string_view text) {
  machine_->AllowWork(kMostWork);
  const std::vector<int32_t>& markers = program_->marker_tokens();
  const auto marker = std::find(markers.begin(), markers.end(), token);
  if (marker != markers.end()) {
    return machine_->Next(state, program_->MarkerClass(static_cast<size_t>(marker - markers.begin())));
  }
  if (text.empty()) return Machine::kDead;
  for (char byte : text) {
    state = machine_->Next(state, program_->ClassOf(static_cast<unsigned char>(byte)));
    if (state == Machine::kDead) break;
  }
  return state;
}

}  // namespace inferd::constraint
