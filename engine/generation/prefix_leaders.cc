// A hash chain over pages, as in the prefix cache.
#include "engine/generation/prefix_leaders.h"

#include <utility>

#include "absl/hash/hash.h"
#include "kernels/kernels.h"

namespace inferd::engine {
namespace {

constexpr size_t kLeastTail = 16;  // tokens that are worth a step of waiting

}  // namespace

std::optional<scheduler::SharedPrefix> PrefixLeaders::Join(scheduler::SequenceId id, std::span<const int32_t> tokens,
                                                           uint64_t salt) {
  std::optional<scheduler::SharedPrefix> shared;
  std::vector<Led> led;
  uint64_t hash = salt;
  for (size_t page = kernels::kPageTokens; page < tokens.size(); page += kernels::kPageTokens) {
    hash = absl::HashOf(hash, absl::MakeConstSpan(tokens.data() + page - kernels::kPageTokens, kernels::kPageTokens));
    const auto [leader, first] = leaders_.try_emplace(hash, id);
    if (first) {
      led.push_back({hash, page});
    } else {
      shared = {.leader = leader->second, .tokens = static_cast<int64_t>(page)};
    }
  }
  const size_t whole = (tokens.size() - 1) / kernels::kPageTokens * kernels::kPageTokens;
  const size_t tail = tokens.size() - 1 - whole;
  if (tail >= kLeastTail) {
    hash = absl::HashOf(hash, absl::MakeConstSpan(tokens.data() + whole, tail));
    const auto [leader, first] = leaders_.try_emplace(hash, id);
    if (first) {
      led.push_back({hash, whole + tail});
    } else {
      shared = {.leader = leader->second, .tokens = static_cast<int64_t>(whole), .tail = static_cast<int64_t>(tail)};
    }
  }
  if (!led.empty()) led_[id] = std::move(led);
  return shared;
}

void PrefixLeaders::Leave(scheduler::SequenceId id) {
  const auto led = led_.find(id);
  if (led == led_.end()) return;
  for (const Led& beginning : led->second) leaders_.erase(beginning.hash);
  led_.erase(led);
}

void PrefixLeaders::HandOver(const scheduler::Heir& heir) {
  const auto led = led_.find(heir.leader);
  if (led == led_.end()) return;
  std::vector<Led> rest;
  std::vector<Led> inherited;
  for (const Led& beginning : led->second) {
    (beginning.tokens <= static_cast<size_t>(heir.tokens) ? inherited : rest).push_back(beginning);
  }
  for (const Led& beginning : inherited) leaders_[beginning.hash] = heir.heir;
  led->second = std::move(rest);
  std::vector<Led>& heirs = led_[heir.heir];
  heirs.insert(heirs.end(), inherited.begin(), inherited.end());
}

}  // namespace inferd::engine
