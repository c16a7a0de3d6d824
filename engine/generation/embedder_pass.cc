// What a pass takes of which inputs, and the pass.
#include <algorithm>
#include <ranges>
#include <tuple>
#include <utility>

#include "config/base/status.h"
#include "engine/generation/embedder.h"
#include "engine/scheduler/prefill_share.h"

namespace inferd::engine {

// ----------------------------------------------------------------------------------------------------------- the plan

std::vector<Embedder::Part> Embedder::PlanPass(MonotonicTime now, const scheduler::Load& others, int64_t most_tokens) {
  Pass pass = EmptyPass(now, others, most_tokens);
  std::vector<Turn> turns;
  for (const std::unique_ptr<Job>& job : jobs_) turns.push_back({.job = job.get(), .input = job->first_open});
  std::stable_sort(turns.begin(), turns.end(), [now](const Turn& a, const Turn& b) {
    return std::tuple(a.job->TurnPriority(now), a.job->last_served_pass, a.job->tokens_left) <
           std::tuple(b.job->TurnPriority(now), b.job->last_served_pass, b.job->tokens_left);
  });
  std::vector<scheduler::Prompt> shares;
  for (const auto& [job, input, part] : turns) {
    shares.push_back({.pending = job->tokens_left,
                      .length = job->tokens_left,
                      .priority = job->TurnPriority(now),
                      .last_served_step = job->last_served_pass});
  }
  scheduler::ShareBudget(pass.tokens_left, shares);
  for (size_t i = 0; i < turns.size(); ++i) {
    // An encoder's text may be longer than any share: whose turn it is gets it whole.
    const bool whole = i == 0 && device_.model().spec().encoder && turns[i].input < turns[i].job->inputs.size();
    const int64_t least = whole ? turns[i].job->tokens_of(turns[i].input) : 0;
    Take(turns[i], std::max(shares[i].given, least), pass);
  }
  for (Turn& turn : turns) Take(turn, pass.tokens_left, pass);  // what others had no use for
  return std::move(pass.parts);
}

Embedder::Pass Embedder::EmptyPass(MonotonicTime now, const scheduler::Load& others, int64_t most_tokens) const {
  const cache::KvCache& cache = device_.cache();
  const int64_t rows = device_.options().max_result_rows, open = CountOpen();
  const int64_t tokens = std::min(most_tokens, device_.options().max_batch_tokens);
  const auto sequences = static_cast<int64_t>(kMostSequences);
  Pass pass{.now = now,
            .tokens_left = PoolsLastToken() ? tokens : std::min(tokens, rows),
            .sequences_left = (PoolsLastToken() ? std::min(sequences, rows) : sequences) - open,
            .open_left = static_cast<int64_t>(kMostOpen) - open,
            .blocks_left = others.running_sequences > 0 ? others.free_blocks : cache.AvailableBlocks()};
  // What waits would take the pages back before they are of any use.
  for (const scheduler::ClassLoad& its_class : others.classes) pass.blocks_left -= its_class.waiting_blocks;
  for (const std::unique_ptr<Job>& job : jobs_) {
    if (!job->open()) continue;
    pass.blocks_left -= cache.BlocksFor(job->tokens_of(job->first_open)) -
                        cache.BlocksFor(job->inputs[job->first_open].sequence->length());
  }
  return pass;
}

void Embedder::Take(Turn& turn, int64_t most_tokens, Pass& pass) {
  while (most_tokens > 0 && turn.input < turn.job->inputs.size()) {
    const int64_t tokens = TakeInput(turn, most_tokens, pass);
    if (tokens == 0) return;  // in order: nothing behind it passes
    most_tokens -= tokens;
  }
}

int64_t Embedder::TakeInput(Turn& turn, int64_t most_tokens, Pass& pass) {
  Job& job = *turn.job;
  Input& input = job.inputs[turn.input];
  const int64_t planned = turn.part ? pass.parts[*turn.part].tokens : 0;
  const int64_t computed = input.sequence != nullptr ? input.sequence->length() : 0;
  const int64_t left = job.tokens_of(turn.input) - computed - planned;
  const int64_t tokens = std::min({left, most_tokens, pass.tokens_left});
  if (tokens <= 0 || (device_.model().spec().encoder && tokens < left)) return 0;
  if (input.sequence == nullptr) {
    if (!Begin(job, turn.input, tokens, pass)) return 0;
  } else if (!device_.cache().Reserve(*input.sequence, planned + tokens).ok()) {
    return 0;
  }
  pass.tokens_left -= tokens;
  if (turn.part) {
    pass.parts[*turn.part].tokens += tokens;
  } else {
    turn.part = pass.parts.size();
    pass.parts.push_back({.job = &job, .input = turn.input, .tokens = tokens});
  }
  if (tokens == left) {
    pass.open_left += input.has_place ? 1 : 0;
    ++turn.input;
    turn.part.reset();
  }
  return tokens;
}

// What does not end with this pass keeps its pages after it: it needs a place, and room for all of it beside what
// streams need, so that it need not begin again for them. One alone that has waited for that long enough begins with
// what there is.
bool Embedder::Begin(Job& job, size_t index, int64_t tokens, Pass& pass) {
  cache::KvCache& cache = device_.cache();
  const bool stays = tokens < job.tokens_of(index);
  const int64_t blocks = cache.BlocksFor(job.tokens_of(index));
  const bool alone = pass.open_left == static_cast<int64_t>(kMostOpen);
  const bool has_waited =
      std::chrono::duration<double>(pass.now - job.last_served).count() >= scheduler::kAgeingSeconds;
  if (stays && pass.closed) return false;
  if (stays && (pass.open_left == 0 || blocks > pass.blocks_left)) Displace(job, blocks, pass);
  if (stays && blocks > pass.blocks_left && has_waited && !alone) pass.closed = true;  // so that it will be alone
  if (stays && (pass.open_left == 0 || (blocks > pass.blocks_left && !(alone && has_waited)))) return false;
  if (pass.sequences_left == 0) return false;
  absl::StatusOr<std::unique_ptr<cache::Sequence>> sequence = cache.NewSequence({}, /*keep=*/false);
  if (!sequence.ok() || !cache.Reserve(**sequence, tokens).ok()) return false;
  job.inputs[index].sequence = *std::move(sequence);
  --pass.sequences_left;
  job.inputs[index].has_place = stays;
  if (!stays) return true;
  --pass.open_left;
  pass.blocks_left -= blocks;
  return true;
}

// Open texts of a worse priority that the pass has nothing of yet give way, the last in rank first, if all of them
// together make room.
void Embedder::Displace(const Job& by, int64_t blocks, Pass& pass) {
  const cache::KvCache& cache = device_.cache();
  const auto gives_way = [&](const Job& job) {
    const auto in_pass = [&](const Part& part) { return part.job == &job; };
    return job.open() && job.PagePriority(pass.now) > by.TurnPriority(pass.now) &&
           std::ranges::none_of(pass.parts, in_pass);
  };
  std::vector<Job*> victims;
  int64_t their_blocks = 0;
  for (const std::unique_ptr<Job>& job : jobs_) {
    if (!gives_way(*job)) continue;
    victims.push_back(job.get());
    their_blocks += cache.BlocksFor(job->tokens_of(job->first_open));
  }
  if (victims.empty() || blocks > pass.blocks_left + their_blocks) return;
  std::ranges::stable_sort(victims, {}, [&](const Job* job) { return job->PagePriority(pass.now); });
  for (; pass.open_left == 0 || blocks > pass.blocks_left; victims.pop_back()) {
    Job& victim = *victims.back();
    pass.blocks_left += cache.BlocksFor(victim.tokens_of(victim.first_open));
    ++pass.open_left;
    ++pass.sequences_left;
    GiveBack(victim);
  }
}

// ---------------------------------------------------------------------------------------------------------- the pages

int64_t Embedder::CountOpen() const {
  return std::count_if(jobs_.begin(), jobs_.end(), [](const std::unique_ptr<Job>& job) { return job->open(); });
}

Embedder::Job* Embedder::LastOpen(MonotonicTime now) const {
  Job* last = nullptr;
  for (const std::unique_ptr<Job>& job : jobs_) {
    if (job->open() && (last == nullptr || job->PagePriority(now) >= last->PagePriority(now))) last = job.get();
  }
  return last;
}

bool Embedder::Release(int priority, MonotonicTime now) {
  Job* const job = LastOpen(now);
  if (job == nullptr || job->PagePriority(now) < priority) return false;
  GiveBack(*job);
  return true;
}

void Embedder::GiveBack(Job& job) {
  Input& input = job.inputs[job.first_open];
  job.tokens_left += input.sequence->length();
  input = {};
}

// ----------------------------------------------------------------------------------------------------------- the pass

model::Pooling Embedder::PooledBy() const {
  const model::DecoderSpec& spec = device_.model().spec();
  return spec.pooling == model::Pooling::kRank ? spec.rank.of : spec.pooling;
}

bool Embedder::PoolsLastToken() const {
  return PooledBy() == model::Pooling::kNone || PooledBy() == model::Pooling::kLast;
}

absl::Status Embedder::RunPass(const std::vector<Part>& parts, MonotonicTime now) {
  std::vector<forward::SequenceStep> steps;
  for (const Part& part : parts) {
    const Input& input = part.job->inputs[part.input];
    const std::span<const int32_t> tokens(part.job->request.inputs[part.input]);
    steps.push_back(
        {.sequence = input.sequence.get(),
         .tokens = tokens.subspan(static_cast<size_t>(input.sequence->length()), static_cast<size_t>(part.tokens)),
         .wanted = PoolsLastToken() ? forward::Rows::kLast : forward::Rows::kAll,
         .second_text = part.job->second_text_of(part.input)});
  }
  ASSIGN_OR_RETURN(forward::ForwardResult result, forward::ForwardHidden(device_, steps));
  // The rows are the device's until the next pass, and pooling may use the device: take them all first.
  int64_t row = 0;
  for (const Part& part : parts) {
    const int64_t rows = PoolsLastToken() ? 1 : part.tokens;
    part.job->tokens_left -= part.tokens;
    for (const int64_t end = row + rows; row < end; ++row) {
      ASSIGN_OR_RETURN(const std::span<float> values, result.Row(row));
      TakeRow(part, values);
    }
  }
  for (const Part& part : parts) RETURN_IF_ERROR(FinishInput(part, now));
  return absl::OkStatus();
}

// One row is kept of each input, however long it is.
void Embedder::TakeRow(const Part& part, std::span<const float> row) {
  std::vector<float>& hidden = part.job->inputs[part.input].hidden;
  if (PooledBy() == model::Pooling::kMean) {
    hidden.resize(row.size());
    for (size_t i = 0; i < row.size(); ++i) hidden[i] += row[i];  // ascending, as forward::Pool does it
  } else if (PoolsLastToken() || hidden.empty()) {
    hidden.assign(row.begin(), row.end());
  }
}

absl::Status Embedder::FinishInput(const Part& part, MonotonicTime now) {
  Job& job = *part.job;
  Input& input = job.inputs[part.input];
  const int64_t tokens = job.tokens_of(part.input);
  if (input.sequence->length() < tokens) return absl::OkStatus();
  if (PooledBy() == model::Pooling::kMean) {
    for (float& value : input.hidden) value /= static_cast<float>(tokens);
  }
  std::vector<float>& vector = job.vectors[part.input];
  vector.resize(static_cast<size_t>(forward::PooledSize(device_.model().spec())));
  RETURN_IF_ERROR(forward::Pool(device_, input.hidden, 1, vector));
  input = {};
  ++job.first_open;  // a pass has the inputs of a request in order
  job.last_answer = now;
  return absl::OkStatus();
}

}  // namespace inferd::engine
