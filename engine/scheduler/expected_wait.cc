// What comes later, and may pass, is not known: the wait is that of the work which is there.
#include "engine/scheduler/expected_wait.h"

#include <algorithm>
#include <vector>

#include "engine/scheduler/prefill_share.h"

namespace inferd::scheduler {
namespace {

size_t Rank(const Arrival& arrival) { return static_cast<size_t>(arrival.priority); }

using Endings = std::vector<Load::Ending>;

// Of all that run: those that came during the step are not among load.endings yet, and generate as much as others.
Endings EndingsOf(const Load& load, const Rates& rates) {
  Endings endings = load.endings;
  const auto missing = load.running_sequences - static_cast<int64_t>(endings.size());
  if (missing <= 0) return endings;
  int64_t blocks = 0;
  for (const ClassLoad& its_class : load.classes) blocks += its_class.running_blocks;
  for (const Load::Ending& ending : endings) blocks -= ending.blocks;
  endings.resize(static_cast<size_t>(load.running_sequences),
                 {static_cast<int64_t>(rates.generated_tokens()), std::max<int64_t>(blocks, 0) / missing});
  std::sort(endings.begin(), endings.end(),
            [](const Load::Ending& a, const Load::Ending& b) { return a.tokens_left < b.tokens_left; });
  return endings;
}

// How many sequences must end until `blocks` more are free. When all that run have ended, so have others at their
// places, each time with as many blocks.
int64_t EndsThatFree(int64_t blocks, const Endings& endings) {
  int64_t all = 0;
  for (const Load::Ending& ending : endings) all += ending.blocks;
  if (blocks <= 0 || all == 0) return 0;
  int64_t ends = (blocks - 1) / all * static_cast<int64_t>(endings.size());
  int64_t left = (blocks - 1) % all + 1;
  for (const Load::Ending& ending : endings) {
    if (left <= 0) break;
    left -= ending.blocks;
    ++ends;
  }
  return ends;
}

// Until so many of the running sequences, and of those that take their places, have ended.
double SecondsUntilEnds(int64_t ends, const Endings& endings, const Rates& rates) {
  if (ends <= 0) return 0;
  const auto running = static_cast<int64_t>(endings.size());
  const int64_t rounds = running > 0 ? (ends - 1) / running : ends;
  const int64_t first = running > 0 ? endings[static_cast<size_t>((ends - 1) % running)].tokens_left : 0;
  const double tokens = static_cast<double>(first) + static_cast<double>(rounds) * rates.generated_tokens();
  return tokens * rates.stream_seconds_per_token();
}

// Until there are a place and pages for the first of its choices.
double SecondsUntilRoom(const QueueLimits& limits, const Load& load, const Arrival& arrival, const Rates& rates) {
  if (arrival.embeds) return 0;
  int64_t places = load.running_sequences + std::min<int64_t>(arrival.sequences, 1) - limits.max_sequences;
  int64_t blocks = arrival.first_blocks - load.free_blocks;
  for (size_t i = 0; i <= Rank(arrival); ++i) {
    places += load.classes[i].waiting_sequences;
    blocks += load.classes[i].waiting_blocks;
  }
  for (size_t i = Rank(arrival) + 1; i < load.classes.size(); ++i) {
    places -= load.classes[i].running_sequences;
    blocks -= load.classes[i].running_blocks;
  }
  if (places <= 0 && blocks <= 0) return 0;
  const Endings endings = EndingsOf(load, rates);
  return SecondsUntilEnds(std::max(places, EndsThatFree(blocks, endings)), endings, rates);
}

int64_t TokensBefore(const Load& load, const Arrival& arrival) {
  const auto of = [&](size_t i) -> const PromptSizes& {
    return arrival.embeds ? load.embeddings[i] : load.classes[i].prompts;
  };
  int64_t tokens = of(Rank(arrival)).Before(arrival.tokens);
  for (size_t i = 0; i < Rank(arrival); ++i) tokens += of(i).tokens();
  return tokens;
}

// Tokens of prompts in a step beside the streams.
int64_t StepTokens(const QueueLimits& limits, const Load& load, const Rates& rates) {
  const int64_t prompts = load.running_sequences - load.decoding_sequences + 1;  // the others wait for a place
  return PrefillBudget(limits.prefill_tokens, rates, load.decoding_sequences, prompts);
}

// Of so many tokens of prompts, with what streams take of each step, and what the others of generation and embedding
// have, which take turns of about the same size.
double WorkSeconds(int64_t tokens, const QueueLimits& limits, const Load& load, const Arrival& arrival,
                   const Rates& rates) {
  double token = rates.prefill_seconds_per_token();
  const int64_t others = std::min(arrival.embeds ? load.prefill_tokens : load.embedding_tokens, tokens);
  const double turns = static_cast<double>(others) * token;
  if (load.decoding_sequences > 0) {
    token += rates.decode_step_seconds(load.decoding_sequences) / static_cast<double>(StepTokens(limits, load, rates));
  }
  return static_cast<double>(tokens) * token + turns;
}

}  // namespace

double SecondsBefore(const QueueLimits& limits, const Load& load, const Arrival& arrival, const Rates& rates) {
  return std::max(SecondsUntilRoom(limits, load, arrival, rates),
                  WorkSeconds(TokensBefore(load, arrival), limits, load, arrival, rates));
}

double ExpectedWaitSeconds(const QueueLimits& limits, const Load& load, const Arrival& arrival, const Rates& rates) {
  // A step is done as a whole, so that even the shortest prompt takes as long as one.
  const int64_t before = TokensBefore(load, arrival),
                all = arrival.embeds ? load.embedding_tokens : load.prefill_tokens;
  const int64_t step = std::min(StepTokens(limits, load, rates), all + arrival.tokens);
  const int64_t tokens = std::max(before + arrival.tokens, step);
  const double until = WorkSeconds(before, limits, load, arrival, rates);
  const double own = WorkSeconds(tokens, limits, load, arrival, rates) - until;
  return std::max(SecondsUntilRoom(limits, load, arrival, rates), until) + own;
}

}  // namespace inferd::scheduler
