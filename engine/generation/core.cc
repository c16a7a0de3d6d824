// Step is the table of contents.
#include "engine/generation/core.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "config/base/status.h"
#include "engine/generation/refusal.h"
#include "engine/scheduler/expected_wait.h"

namespace inferd::engine {

Core::Core(const CoreOptions& options, StepRunner& runner, cache::KvCache& cache, const Vocabulary& vocabulary,
           const kernels::Kernels& kernels, const Clock& clock, std::unique_ptr<Drafter> drafter)
    : options_(options),
      runner_(runner),
      cache_(cache),
      vocabulary_(vocabulary),
      kernels_(kernels),
      clock_(clock),
      memory_(cache, options.release_others),
      scheduler_(options.scheduler, memory_),
      speculation_(options.speculation, options.limits.vocabulary_size, std::move(drafter)) {
  scheduler_.rates() = options.rates;
}

// --------------------------------------------------------------------------------------------------------- beginnings

void Core::Submit(RequestId id, GenerationRequest generation, std::shared_ptr<EventQueue> queue,
                  MonotonicTime arrival) {
  auto owned = std::make_unique<Request>(
      Request{.id = id, .request = std::move(generation), .queue = std::move(queue), .arrival = arrival});
  Request& request = *owned;
  request.stops = *output::StopTexts::Create(request.request.stop);
  request.known_tokens = KnownTokens(request);
  requests_[id] = std::move(owned);
  waiting_.insert(id);
  request.choices_left = request.request.choices;
  if (!request.request.resumed.empty()) waiting_.erase(id);  // it was accepted before: it cannot be refused any more
  for (const ResumedChoice& resumed : request.request.resumed) request.choices_left -= resumed.finished ? 1 : 0;
  for (uint32_t index = 0; index < request.request.choices; ++index) StartChoice(request, index);
  if (request.choices_left > 0) return;
  Begin(request);
  Cancel(id, absl::OkStatus());
}

void Core::Begin(Request& request) {
  if (std::exchange(request.begun, true)) return;
  waiting_.erase(request.id);
  const uint32_t prompt_tokens = static_cast<uint32_t>(request.request.prompt.size());
  statistics_.prompt_tokens += prompt_tokens;
  statistics_.request_prompt_tokens.Add(prompt_tokens);
  Send(request, Accepted{.prompt_tokens = prompt_tokens, .seed = request.request.seed});
}

// Its first tokens are about to be computed.
void Core::Begin(scheduler::SequenceId id) {
  Active& active = active_.at(id);
  if (std::exchange(active.begun, true)) return;
  Begin(*active.request);
  const uint64_t cached = CachedOfPrompt(*active.request, *scheduler_.Find(id));
  ++statistics_.prefix_queries;
  statistics_.prefix_hits += cached > 0 ? 1 : 0;
  statistics_.cached_prompt_tokens += active.choice->index() == 0 ? cached : 0;
}

void Core::StartChoice(Request& request, uint32_t index) {
  for (const ResumedChoice& resumed : request.request.resumed) {
    if (resumed.choice == index && resumed.finished) return;
  }
  const scheduler::SequenceId id = ++last_sequence_;
  Active& active = active_[id];
  active.request = &request;
  active.choice = std::make_unique<Choice>(request.request, index, request.stops,
                                           ChoiceLimits{.most_tokens = MostTokens(request.request, options_.limits),
                                                        .window = WindowTokens(options_.limits)},
                                           vocabulary_, kernels_);
  Delta delta{.choice = index};
  const std::optional<Finish> finish = active.choice->Replay(delta);
  if (!delta.parts.empty()) Send(request, std::move(delta));
  if (finish) {
    FinishChoice(id, *finish);
    return;
  }
  active.choice->TakeSlid();  // nothing is computed yet
  const TokenText& tokens = active.choice->tokens();
  std::vector<int32_t> scratch;
  const bool all_rows = WantsAllRows(active);
  const bool reuse_prefix = options_.prefix_reuse && !all_rows;
  std::optional<scheduler::SharedPrefix> shared;
  if (reuse_prefix) shared = leaders_.Join(id, tokens.view().All(scratch), request.request.cache_salt);
  memory_.Describe(
      id, {.tokens = &tokens, .key = {.tenant_salt = request.request.cache_salt}, .reuse_prefix = reuse_prefix});
  scheduler_.Add({.id = id,
                  .tokens = static_cast<int64_t>(tokens.size()),
                  .most_tokens = static_cast<int64_t>(request.request.prompt.size()) +
                                 MostTokens(request.request, options_.limits),
                  .known_tokens = request.known_tokens,
                  .priority = request.request.priority,
                  .arrival = request.arrival,
                  .deadline = request.request.deadline,
                  .shared_prefix = shared,
                  .all_rows = all_rows});
  request.sequences.push_back(id);
}

bool Core::WantsAllRows(const Active& active) const {
  return active.request->request.prompt_logprobs && active.choice->index() == 0 && active.choice->at_beginning();
}

// --------------------------------------------------------------------------------------------------------------- step

bool Core::Step() {
  const MonotonicTime begin = clock_.Now();
  RefuseWaiting(begin);
  ProposeDrafts();
  scheduler::StepPlan plan = scheduler_.Plan(begin);
  EndPlanned(plan);
  if (plan.work.empty()) return false;
  for (const scheduler::Work& work : plan.work) Begin(work.id);
  absl::StatusOr<forward::ForwardResult> result = runner_.Run(StepsFor(plan.work));
  absl::Status status = result.status();
  if (status.ok()) {
    scheduler_.Computed(plan.work);
    int64_t tokens = 0;
    status = HandleResults(plan.work, *result, tokens);
    scheduler_.rates().StreamsAdvanced(plan.shape.decode_sequences, tokens);
  }
  if (!status.ok()) FailWork(plan.work, status);
  DropUnread();
  const double seconds = Seconds(begin, clock_.Now());
  scheduler_.rates().StepDone(plan.shape, seconds);
  if (plan.shape.prefill_tokens == 0) speculation_.StepDone(plan.shape.decode_sequences, seconds);
  ++statistics_.steps;
  statistics_.step_tokens.Add(
      static_cast<double>(plan.shape.decode_sequences + plan.shape.draft_tokens + plan.shape.prefill_tokens));
  return true;
}

scheduler::Arrival Core::ArrivalOf(const Request& request) const {
  return {.tokens = static_cast<int64_t>(request.request.prompt.size()),
          .sequences = request.choices_left,
          .priority = request.request.priority,
          .now = request.arrival,
          .deadline = request.request.deadline};
}

int64_t Core::KnownTokens(const Request& request) const {
  const GenerationRequest& generation = request.request;
  if (!options_.prefix_reuse || generation.prompt_logprobs) return 0;
  return cache_.CountKnown({.tenant_salt = generation.cache_salt}, generation.prompt);
}

void Core::RefuseWaiting(MonotonicTime now) {
  std::vector<std::pair<RequestId, scheduler::Rejection>> refused;
  for (RequestId id : waiting_) {
    scheduler::Arrival arrival = ArrivalOf(*requests_.at(id));
    auto rejection = scheduler::CheckWaiting(options_.queue, arrival, now, rates());
    if (rejection && rejection->reason == scheduler::RejectionReason::kDeadline) {
      arrival.tokens -= KnownTokens(*requests_.at(id));
      rejection = scheduler::CheckWaiting(options_.queue, arrival, now, rates());
    }
    if (rejection) refused.emplace_back(id, *std::move(rejection));
  }
  if (refused.empty()) return;
  const scheduler::Load before = load();
  for (auto& [id, rejection] : refused) {
    ++statistics_.rejections[ReasonName(rejection.reason)];
    scheduler::Arrival again = ArrivalOf(*requests_.at(id));
    again.sequences = 0;  // its place and its prompt are counted with those that wait
    rejection.expected_wait_seconds = scheduler::SecondsBefore(options_.queue, before, again, rates());
    Cancel(id, RefusalStatus(rejection));
  }
}

// Sequences that the plan has ended without computing them. Their requests end with all choices, also with those that
// the plan has work for.
void Core::EndPlanned(scheduler::StepPlan& plan) {
  const auto end = [this](scheduler::SequenceId id, const absl::Status& status) {
    const auto active = active_.find(id);
    if (active != active_.end()) Cancel(active->second.request->id, status);
  };
  HandOver();
  for (scheduler::SequenceId id : plan.expired) end(id, DeadlineExceeded("the deadline passed before the last token"));
  for (scheduler::SequenceId id : plan.oversized) end(id, OutOfRange("the sequence outgrew the KV cache"));
  std::erase_if(plan.work, [&](const scheduler::Work& work) {
    if (active_.contains(work.id)) return false;
    plan.shape.decode_sequences -= work.decode ? 1 : 0;
    plan.shape.draft_tokens -= work.drafts;
    plan.shape.prefill_tokens -= work.decode ? 0 : work.count;
    return true;
  });
}

void Core::ProposeDrafts() {
  if (options_.scheduler.draft_tokens == 0) return;
  std::vector<Speculation::Candidate> candidates;
  for (const auto& [id, active] : active_) {
    const scheduler::Sequence* sequence = scheduler_.Find(id);
    if (sequence == nullptr || sequence->state != scheduler::SequenceState::kDecode) continue;
    const Choice& choice = *active.choice;
    candidates.push_back(
        {.id = id, .tokens = choice.tokens().view(), .known = choice.known(), .most = choice.room() - 1});
  }
  speculation_.Propose(candidates);
  for (const Speculation::Candidate& candidate : candidates) {
    speculation_.Keep(candidate.id, active_.at(candidate.id).choice->CountPossible(speculation_.Drafts(candidate.id)));
  }
  for (const Speculation::Candidate& candidate : candidates) {
    scheduler_.Draft(candidate.id, static_cast<int64_t>(speculation_.Drafts(candidate.id).size()));
  }
}

std::vector<forward::SequenceStep> Core::StepsFor(std::span<const scheduler::Work> work) {
  std::vector<forward::SequenceStep> steps;
  step_pieces_.assign(work.size(), {});
  for (const scheduler::Work& item : work) {
    const TokenView text = active_.at(item.id).choice->tokens().view();
    std::span<const int32_t> tokens = text.Piece(
        static_cast<size_t>(item.first), static_cast<size_t>(item.count - item.drafts), step_pieces_[steps.size()]);
    if (item.drafts > 0) tokens = speculation_.WithDrafts(item.id, tokens.back(), item.drafts);
    const bool all_rows = scheduler_.Find(item.id)->spec.all_rows || item.drafts > 0;
    steps.push_back({.sequence = memory_.Get(item.id),
                     .tokens = tokens,
                     .wanted = all_rows         ? forward::Rows::kAll
                               : item.completes ? forward::Rows::kLast
                                                : forward::Rows::kNone,
                     .drafts = item.drafts});
  }
  return steps;
}

// A pass fails as a whole; which sequence is to blame cannot be told.
void Core::FailWork(std::span<const scheduler::Work> work, const absl::Status& status) {
  std::vector<RequestId> failed;
  for (const scheduler::Work& item : work) {
    if (const auto it = active_.find(item.id); it != active_.end()) failed.push_back(it->second.request->id);
  }
  for (RequestId id : failed) Cancel(id, Annotate(status, "forward pass"));
}

absl::Status Core::HandleResults(std::span<const scheduler::Work> work, forward::ForwardResult& result,
                                 int64_t& stream_tokens) {
  int64_t next = 0;
  for (const scheduler::Work& item : work) {
    const bool all_rows = scheduler_.Find(item.id) != nullptr && scheduler_.Find(item.id)->spec.all_rows;
    const int64_t rows = all_rows || item.drafts > 0 ? item.count : item.completes ? 1 : 0;
    const int64_t row = std::exchange(next, next + rows);
    if (rows == 0) continue;
    Active& active = active_.at(item.id);
    const uint64_t before = statistics_.generation_tokens;
    if (item.drafts > 0) {
      RETURN_IF_ERROR(AdvanceGuessed(item, active, result, row));
    } else {
      if (all_rows) RETURN_IF_ERROR(HandlePromptRows(active, item, result, row));
      if (item.completes) {
        ASSIGN_OR_RETURN(const std::span<float> logits, result.Row(next - 1));
        AdvanceChoice(item.id, active, logits);
      }
    }
    if (item.decode) stream_tokens += static_cast<int64_t>(statistics_.generation_tokens - before);
  }
  return absl::OkStatus();
}

absl::Status Core::HandlePromptRows(Active& active, const scheduler::Work& work, forward::ForwardResult& result,
                                    int64_t row) {
  for (int64_t i = 0; i < work.count; ++i) {
    ASSIGN_OR_RETURN(const std::span<float> logits, result.Row(row + i));
    active.choice->AddPromptRow(work.first + i, logits);
    rows_taken_.fetch_add(1, std::memory_order_relaxed);
  }
  if (!work.completes || !active.choice->at_beginning()) return absl::OkStatus();
  Send(*active.request, Delta{.choice = active.choice->index(),
                              .first_prompt_token = active.request->request.prompt.front(),
                              .prompt_logprobs = active.choice->TakePromptLogprobs()});
  return absl::OkStatus();
}

// Each row is drawn from as if it were alone; it counts as long as the token before it was the one guessed.
absl::Status Core::AdvanceGuessed(const scheduler::Work& work, Active& active, forward::ForwardResult& result,
                                  int64_t row) {
  const std::span<const int32_t> drafts = speculation_.Drafts(work.id).first(static_cast<size_t>(work.drafts));
  size_t accepted = 0;
  bool goes_on = true;
  for (size_t i = 0; goes_on && i <= drafts.size(); ++i) {
    ASSIGN_OR_RETURN(const std::span<float> logits, result.Row(row + static_cast<int64_t>(i)));
    goes_on = AdvanceChoice(work.id, active, logits);
    if (!goes_on || i == drafts.size() || active.choice->tokens().back() != drafts[i]) break;
    cache_.Commit(*memory_.Get(work.id), drafts.subspan(i, 1));
    scheduler_.Accept(work.id);
    ++accepted;
  }
  speculation_.Judge(work.id, drafts.size(), accepted, goes_on);
  return absl::OkStatus();
}

// False: it has ended, and is gone.
bool Core::AdvanceChoice(scheduler::SequenceId id, Active& active, std::span<float> logits) {
  leaders_.Leave(id);
  Delta delta{.choice = active.choice->index()};
  const std::optional<Finish> finish = active.choice->Advance(logits, delta);
  rows_taken_.fetch_add(1, std::memory_order_relaxed);
  if (!delta.tokens.empty()) {
    ++statistics_.generation_tokens;
    const MonotonicTime now = clock_.Now();
    if (!active.first_token) {
      active.first_token = now;
      statistics_.time_to_first_token_seconds.Add(Seconds(active.request->arrival, now));
    } else {
      statistics_.inter_token_seconds.Add(Seconds(*active.last_token, now));
    }
    active.last_token = now;
  }
  if (!delta.tokens.empty() || !delta.parts.empty()) Send(*active.request, std::move(delta));
  if (finish) {
    FinishChoice(id, *finish);
  } else if (active.choice->TakeSlid()) {
    speculation_.Forget(id);
    scheduler_.Restart(id, static_cast<int64_t>(active.choice->tokens().size()));
  } else {
    scheduler_.Append(id);
  }
  return !finish;
}

// --------------------------------------------------------------------------------------------------------------- ends

void Core::FinishChoice(scheduler::SequenceId id, const Finish& finish) {
  const Active& active = active_.at(id);
  Request& request = *active.request;
  const scheduler::Sequence* sequence = scheduler_.Find(id);  // none: it ended while it was replayed
  const Finished event = FinishedEvent(active, sequence, finish);
  CountFinished(event, request.arrival);
  statistics_.nonfinite_logits += finish.nonfinite_logits ? 1 : 0;
  if (sequence != nullptr) {
    scheduler_.Finish(id);
  }
  memory_.Forget(id);
  leaders_.Leave(id);
  speculation_.Forget(id);
  std::erase(request.sequences, id);
  active_.erase(id);
  Send(request, event);
  if (--request.choices_left == 0 && sequence != nullptr) Cancel(request.id, absl::OkStatus());
}

void Core::Cancel(RequestId id, absl::Status status) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return;
  // The first leads the others, and needs no heir among them.
  for (scheduler::SequenceId sequence : found->second->sequences | std::views::reverse) {
    scheduler_.Cancel(sequence);
    HandOver();
    memory_.Forget(sequence);
    leaders_.Leave(sequence);
    speculation_.Forget(sequence);
    active_.erase(sequence);
  }
  found->second->queue->Close(std::move(status));
  waiting_.erase(id);
  requests_.erase(found);
}

void Core::HandOver() {
  for (const scheduler::Heir& heir : scheduler_.TakeHeirs()) leaders_.HandOver(heir);
}

void Core::Send(Request& request, Event event) {
  if (!request.begun) Begin(request);  // what a resumed request has to tell without a step
  if (!request.queue->Push(std::move(event))) unread_.push_back(request.id);
}

void Core::DropUnread() {
  for (RequestId id : std::exchange(unread_, {})) Cancel(id, Cancelled("the reader has fallen too far behind"));
}

}  // namespace inferd::engine
