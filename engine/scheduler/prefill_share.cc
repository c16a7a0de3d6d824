// Least left first minimizes the mean time to the first token; the half in turns keeps long prompts moving.
#include "engine/scheduler/prefill_share.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace inferd::scheduler {
namespace {

constexpr int64_t kLeastPart = 32;
constexpr int64_t kLeastBudget = 4;  // a small model computes a token of a prompt no faster than one of a stream
// Of the streams' time, for few prompts: the gaps of a stream scatter, and nearly all shall stay below twice the gap.
constexpr double kLeastShare = 0.5;
// In streams. The client of a waiting prompt has nothing yet, and the step that it is missing from costs nearly as much
// as a step with it. Very short prompts come soon enough without making the streams wait.
constexpr double kMostWeight = 8, kTokensOfAStream = 16;
constexpr double kMostShare = 8;  // of the streams' time, for a burst

// Gives each prompt in turn at most `part` more tokens until `budget` is used; returns what is left of it.
int64_t Give(int64_t budget, int64_t part, std::span<Prompt* const> order) {
  for (Prompt* prompt : order) {
    const int64_t tokens = std::min({budget, part, prompt->pending - prompt->given});
    prompt->given += tokens;
    budget -= tokens;
  }
  return budget;
}

// The rule of the header among prompts of one priority; returns what is left of the budget.
int64_t ShareAmongEquals(int64_t budget, std::vector<Prompt*> prompts) {
  std::stable_sort(prompts.begin(), prompts.end(),
                   [](const Prompt* a, const Prompt* b) { return a->last_served_step < b->last_served_step; });
  const int64_t turns = (budget + 1) / 2;
  const int64_t part = std::max(kLeastPart, turns / static_cast<int64_t>(prompts.size()));
  const int64_t over = Give(turns, part, prompts);
  std::stable_sort(prompts.begin(), prompts.end(),
                   [](const Prompt* a, const Prompt* b) { return a->pending < b->pending; });
  return Give(budget - turns + over, budget, prompts);
}

// Tokens of prompts that take as long as a step of the streams; 0: not known yet.
double StepTokens(const Rates& rates, int64_t streams) {
  const double token = rates.prefill_seconds_per_token();
  return token == 0 ? 0 : rates.decode_step_seconds(streams) / token;
}

int64_t Whole(double tokens, int64_t most) { return static_cast<int64_t>(std::min(tokens, static_cast<double>(most))); }

}  // namespace

int64_t PrefillBudget(int64_t most, const Rates& rates, int64_t streams, int64_t prompts) {
  if (streams == 0) return most;
  const double step = StepTokens(rates, streams);
  if (step == 0) return most;
  const double share = std::max(kLeastShare, static_cast<double>(prompts) / static_cast<double>(streams));
  return std::min(std::max(Whole(step * share, most), kLeastBudget), most);
}

int64_t BurstBudget(int64_t most, const Rates& rates, const Streams& streams, std::span<const Prompt> prompts) {
  const int64_t usual = PrefillBudget(most, rates, streams.count, static_cast<int64_t>(prompts.size()));
  if (usual == most) return usual;
  int64_t pending = 0;
  double weight = 0, largest = 0;
  for (const Prompt& prompt : prompts) {
    if (prompt.pending > most || prompt.priority > streams.best_priority) continue;
    pending += prompt.pending;
    const double streams_worth = std::min(static_cast<double>(prompt.length) / kTokensOfAStream, kMostWeight);
    weight += streams_worth;
    largest = std::max(largest, streams_worth);
  }
  const double share = std::min((weight - largest) / static_cast<double>(streams.count), kMostShare);
  return std::max(usual, Whole(StepTokens(rates, streams.count) * share, std::min(pending, most)));
}

void ShareBudget(int64_t budget, std::span<Prompt> prompts) {
  std::map<int, std::vector<Prompt*>> classes;
  for (Prompt& prompt : prompts) classes[prompt.priority].push_back(&prompt);
  for (auto& [priority, members] : classes) budget = ShareAmongEquals(budget, std::move(members));
}

}  // namespace inferd::scheduler
