// Plan is the table of contents: expire, decode, admit, prefill.
#include "engine/scheduler/scheduler.h"

#include <algorithm>
#include <ranges>
#include <tuple>
#include <utility>

#include "config/base/status.h"
#include "engine/scheduler/state_stops.h"

namespace inferd::scheduler {
namespace {

// A running sequence's end is not known: it is expected to generate as much as others did, and where it already has,
// half as much again.
int64_t TokensLeft(const Sequence& sequence, double mean) {
  const double generated = static_cast<double>(sequence.tokens - sequence.spec.tokens);
  const int64_t left = static_cast<int64_t>(std::max({mean - generated, mean / 2, 1.0}));
  const int64_t most = sequence.spec.most_tokens;
  return most > 0 ? std::clamp<int64_t>(most - sequence.tokens, 0, left) : left;
}

}  // namespace

// ------------------------------------------------------------------------------------------------------ the sequences

void Scheduler::Add(const SequenceSpec& spec) {
  CHECK(spec.tokens >= 1);
  const auto [place, added] = sequences_.emplace(spec.id, Sequence{.spec = spec, .tokens = spec.tokens});
  CHECK(added);
  if (!spec.shared_prefix) return;
  const auto leader = sequences_.find(spec.shared_prefix->leader);
  if (leader == sequences_.end()) return;
  leader->second.leads = true;
  // A leader with a recurrent state that has gone past has stopped there for nobody, and left no state.
  const bool left_state = leader->second.computed <= spec.shared_prefix->tokens || spec.shared_prefix->tail > 0;
  if (options_.state_page_tokens > 0 && !left_state) place->second.spec.shared_prefix.reset();
}

void Scheduler::Cancel(SequenceId id) {
  if (const auto found = sequences_.find(id); found != sequences_.end()) Remove(found->second, SequenceEvent::kCancel);
}

void Scheduler::Computed(std::span<const Work> work) {
  for (const Work& item : work) {
    Sequence& sequence = sequences_.at(item.id);
    sequence.computed += item.count - item.drafts;
    if (sequence.state == SequenceState::kPrefill && sequence.pending() == 0) {
      Transition(sequence, SequenceEvent::kPromptDone);
    }
  }
}

void Scheduler::Append(SequenceId id) {
  Sequence& sequence = sequences_.at(id);
  CHECK(sequence.state == SequenceState::kDecode && sequence.pending() == 0);
  ++sequence.tokens;
}

void Scheduler::Restart(SequenceId id, int64_t tokens) {
  Sequence& sequence = sequences_.at(id);
  CHECK(sequence.state == SequenceState::kDecode && sequence.pending() == 0);
  memory_.Release(id);
  sequence.spec.all_rows = false;
  Transition(sequence, SequenceEvent::kPreempt);
  HandOver(sequence);
  sequence.spec.shared_prefix.reset();
  sequence.tokens = tokens;
  sequence.computed = 0;
}

void Scheduler::Accept(SequenceId id) {
  Sequence& sequence = sequences_.at(id);
  CHECK(sequence.state == SequenceState::kDecode && sequence.pending() == 1);
  ++sequence.computed;
}

void Scheduler::Draft(SequenceId id, int64_t tokens) {
  Sequence& sequence = sequences_.at(id);
  CHECK(sequence.state == SequenceState::kDecode);
  sequence.drafts = tokens;
}

void Scheduler::Finish(SequenceId id) {
  Sequence& sequence = sequences_.at(id);
  rates_.SequenceDone(std::max<int64_t>(sequence.tokens - sequence.spec.tokens, 0));  // fewer after a slide
  Remove(sequence, SequenceEvent::kFinish);
}

const Sequence* Scheduler::Find(SequenceId id) const {
  const auto found = sequences_.find(id);
  return found == sequences_.end() ? nullptr : &found->second;
}

Load Scheduler::load() const {
  Load load;
  AddRunning(load);
  const int64_t page = memory_.BlocksFor(1);
  for (const auto& [id, sequence] : sequences_) {
    ClassLoad& its_class = load.classes[static_cast<size_t>(EffectivePriority(sequence))];
    int64_t pending = sequence.state == SequenceState::kDecode ? 0 : sequence.pending();
    if (sequence.waiting()) {
      int64_t blocks = memory_.BlocksFor(sequence.tokens) + page;
      pending = std::max<int64_t>(pending - sequence.spec.known_tokens, 1);
      if (sequence.spec.shared_prefix) {
        // What it shares is counted with its leader, or known if that has ended.
        const SharedPrefix& shared = *sequence.spec.shared_prefix;
        const Sequence* leader = Find(shared.leader);
        const bool has_tail = leader != nullptr && leader->computed <= shared.end();
        const int64_t less = std::min(has_tail ? shared.end() : shared.tokens, pending);
        pending -= less;
        blocks -= less > 0 ? std::max<int64_t>(memory_.BlocksFor(less) - page, 0) : 0;
      }
      ++load.waiting_sequences;
      ++its_class.waiting_sequences;
      its_class.waiting_blocks += blocks;
    }
    load.prefill_tokens += pending;
    its_class.prompts.Add(pending);
  }
  load.free_blocks = FreeBlocks();
  return load;
}

void Scheduler::AddRunning(Load& load) const {
  load.running_sequences = CountRunning();
  // Of blocks that several share, a better class keeps those that a worse one gives up.
  Ranked order = Running();
  std::ranges::reverse(order);
  std::vector<int64_t> freed = FreedBlocks(order);
  for (size_t i = 0; i < order.size(); ++i) {
    ClassLoad& its_class = load.classes[static_cast<size_t>(EffectivePriority(*order[i]))];
    ++its_class.running_sequences;
    its_class.running_blocks += freed[i];
    load.decoding_sequences += order[i]->state == SequenceState::kDecode ? 1 : 0;
  }
  const auto left = [this](const Sequence* sequence) { return TokensLeft(*sequence, rates_.generated_tokens()); };
  std::ranges::stable_sort(order, {}, left);
  freed = FreedBlocks(order);
  for (size_t i = 0; i < order.size(); ++i) load.endings.push_back({left(order[i]), freed[i]});
}

void Scheduler::Transition(Sequence& sequence, SequenceEvent event) {
  const std::optional<SequenceState> next = Next(sequence.state, event);
  CHECK(next.has_value());
  const bool ran = sequence.running();
  sequence.state = *next;
  if (!ran && sequence.running()) running_.push_back(&sequence);
  if (ran && !sequence.running()) std::erase(running_, &sequence);
}

void Scheduler::Remove(Sequence& sequence, SequenceEvent event) {
  if (sequence.running()) memory_.Release(sequence.spec.id);
  Transition(sequence, event);
  if (event == SequenceEvent::kCancel) HandOver(sequence);
  sequences_.erase(sequence.spec.id);
}

// ----------------------------------------------------------------------------------------------------------- the rank

int Scheduler::EffectivePriority(const Sequence& sequence) const {
  return AgedPriority(sequence.spec.priority, sequence.spec.arrival, now_, options_.ageing_seconds);
}

Scheduler::Rank Scheduler::RankOf(const Sequence& sequence) const {
  return {EffectivePriority(sequence), sequence.spec.arrival, sequence.spec.id};
}

Scheduler::Ranked Scheduler::Running() const {
  Ranked ranked = running_;
  std::sort(ranked.begin(), ranked.end(),
            [&](const Sequence* a, const Sequence* b) { return RankOf(*a) < RankOf(*b); });
  return ranked;
}

Scheduler::Queue Scheduler::Waiting() {
  std::vector<std::pair<Rank, Sequence*>> ranked;
  for (auto& [id, sequence] : sequences_) {
    if (sequence.waiting() && (step_ == 0 || sequence.preempted_step != step_)) {
      ranked.emplace_back(RankOf(sequence), &sequence);
    }
  }
  return Queue(std::greater<>(), std::move(ranked));
}

// ----------------------------------------------------------------------------------------------------------- the plan

StepPlan Scheduler::Plan(MonotonicTime now) {
  now_ = now;
  ++step_;
  StepPlan plan;
  Expire(plan);
  PlanDecodes(plan);
  AdmitWaiting(plan);
  PlanPrefills(plan);
  PlanDrafts(plan);
  return plan;
}

void Scheduler::Expire(StepPlan& plan) {
  for (const auto& [id, sequence] : sequences_) {
    if (sequence.spec.deadline && *sequence.spec.deadline <= now_) plan.expired.push_back(id);
  }
  for (SequenceId id : plan.expired | std::views::reverse) Cancel(id);  // no choice hands over to one before it
}

void Scheduler::PlanDecodes(StepPlan& plan) {
  for (Sequence* sequence : Running()) {
    // A victim of this very loop is preempted by now.
    if (sequence->state == SequenceState::kDecode && ReserveOrPreempt(*sequence, sequence->pending(), plan)) {
      AddWork(*sequence, sequence->pending(), plan);
    }
  }
  // Oversized sequences are still in the list above: they go when it is no longer in use.
  for (SequenceId id : plan.oversized) Cancel(id);
}

void Scheduler::AdmitWaiting(StepPlan& plan) {
  // Thousands may wait of which few find a place, so that they are not all put in order.
  for (Queue waiting = Waiting(); !waiting.empty(); waiting.pop()) {
    Sequence* sequence = waiting.top().second;
    if (WaitsForLeader(*sequence)) continue;
    while (CountRunning() >= options_.max_sequences || !Admit(*sequence)) {
      if (CountRunning() == 0) {
        if (memory_.ReleaseOthers(kBestPriority)) continue;
        plan.oversized.push_back(sequence->spec.id);
        Cancel(sequence->spec.id);
        break;
      }
      const bool lacks_room = CountRunning() < options_.max_sequences;
      if (lacks_room && memory_.ReleaseOthers(EffectivePriority(*sequence) + 1)) continue;
      if (!Displace(*sequence, plan)) return;  // nobody behind it may pass: it would never find room
    }
  }
}

Streams Scheduler::Decoding(const StepPlan& plan) const {
  Priority best = Priority::kBatch;  // as asked for: a stream does not wait
  for (const Work& work : plan.work) {
    if (work.decode) best = std::min(best, sequences_.at(work.id).spec.priority);
  }
  return {.count = plan.shape.decode_sequences, .best_priority = static_cast<int>(best)};
}

void Scheduler::PlanPrefills(StepPlan& plan) {
  Ranked prefilling = Running();
  std::erase_if(prefilling, [](const Sequence* sequence) { return sequence->state != SequenceState::kPrefill; });
  if (prefilling.empty()) return;
  int64_t spare_rows = options_.max_result_rows - options_.max_sequences;
  int64_t unplanned_rows = spare_rows;
  const Stops stops = StopsForFollowers();
  std::vector<Prompt> prompts;
  for (const Sequence* sequence : prefilling) {
    int64_t pending = TokensToStop(*sequence, stops);
    if (sequence->spec.all_rows) {
      pending = std::min(pending, unplanned_rows);
      unplanned_rows -= pending;
    }
    prompts.push_back({.pending = pending,
                       .length = sequence->tokens - sequence->cached,
                       .priority = EffectivePriority(*sequence),
                       .last_served_step = sequence->last_served_step});
  }
  ShareBudget(BurstBudget(options_.prefill_tokens, rates_, Decoding(plan), prompts), prompts);
  for (size_t i = 0; i < prompts.size(); ++i) {
    Sequence& sequence = *prefilling[i];
    const int64_t given = sequence.spec.all_rows ? std::min(prompts[i].given, spare_rows) : prompts[i].given;
    const int64_t count = StopAtPage(sequence.computed, given, options_.state_page_tokens);
    // A victim of this very loop is preempted by now.
    if (count == 0 || sequence.state != SequenceState::kPrefill) continue;
    if (!ReserveOrPreempt(sequence, count, plan)) continue;
    AddWork(sequence, count, plan);
    if (sequence.spec.all_rows) spare_rows -= count;
  }
  for (SequenceId id : plan.oversized) Cancel(id);
}

// Last, so that guesses take only what nobody else needs.
void Scheduler::PlanDrafts(StepPlan& plan) {
  int64_t left = options_.draft_tokens;
  for (Work& work : plan.work) {
    Sequence& sequence = sequences_.at(work.id);
    const int64_t drafts = std::min(std::exchange(sequence.drafts, 0), left);
    if (!work.decode || drafts == 0 || !memory_.Reserve(work.id, work.count + drafts)) continue;
    work.drafts = drafts;
    work.count += drafts;
    plan.shape.draft_tokens += drafts;
    left -= drafts;
  }
}

void Scheduler::AddWork(Sequence& sequence, int64_t count, StepPlan& plan) {
  const bool decode = sequence.state == SequenceState::kDecode;
  plan.work.push_back({.id = sequence.spec.id,
                       .first = sequence.computed,
                       .count = count,
                       .completes = count == sequence.pending(),
                       .decode = decode});
  plan.shape.decode_sequences += decode ? 1 : 0;
  plan.shape.prefill_tokens += decode ? 0 : count;
  sequence.last_served_step = step_;
}

// --------------------------------------------------------------------------------------------------------- the memory

// Beside the rest of the running prompts, and a page more for each running sequence to grow.
int64_t Scheduler::FreeBlocks() const {
  int64_t blocks = memory_.AvailableBlocks() - CountRunning() * memory_.BlocksFor(1);
  for (const Sequence* sequence : running_) {
    if (sequence->state != SequenceState::kPrefill) continue;
    blocks -= std::max<int64_t>(memory_.BlocksFor(sequence->tokens) - memory_.BlocksFor(sequence->computed), 0);
  }
  return blocks;
}

// When these running sequences end one after the other, with all that they will have computed of what is known, and a
// page that each may grow by.
std::vector<int64_t> Scheduler::FreedBlocks(const Ranked& in_order) const {
  std::vector<SequenceId> ids;
  for (const Sequence* sequence : in_order) ids.push_back(sequence->spec.id);
  std::vector<int64_t> freed = memory_.FreedBlocks(ids);
  for (size_t i = 0; i < freed.size(); ++i) {
    const Sequence& sequence = *in_order[i];
    freed[i] += memory_.BlocksFor(sequence.tokens) - memory_.BlocksFor(sequence.computed) + memory_.BlocksFor(1);
  }
  return freed;
}

// Beside others there must be room for the whole prompt and for each running sequence to grow.
bool Scheduler::Admit(Sequence& sequence) {
  const SequenceId id = sequence.spec.id;
  const int64_t cached = memory_.Start(sequence.spec);
  if (cached < 0) return false;
  const int64_t needed = std::max<int64_t>(memory_.BlocksFor(sequence.tokens) - memory_.BlocksFor(cached), 0);
  if (CountRunning() > 0 && needed > FreeBlocks()) {
    memory_.Release(id);
    return false;
  }
  sequence.computed = cached;
  if (!sequence.admitted) {
    sequence.admitted = now_;
    sequence.cached = cached;
  }
  Transition(sequence, SequenceEvent::kAdmit);
  return true;
}

// The last in rank of those running gives way, if its priority is worse than that of a waiting sequence, and if all
// such together make room for that.
bool Scheduler::Displace(const Sequence& by, StepPlan& plan) {
  const Ranked ranked = Running();
  if (ranked.empty() || EffectivePriority(*ranked.back()) <= EffectivePriority(by)) return false;
  int64_t blocks = FreeBlocks();
  Ranked victims(ranked.rbegin(), ranked.rend());
  std::erase_if(victims, [&](const Sequence* s) { return EffectivePriority(*s) <= EffectivePriority(by); });
  for (int64_t freed : FreedBlocks(victims)) blocks += freed;
  if (memory_.BlocksFor(by.tokens) > blocks) return false;
  Preempt(*ranked.back(), plan);
  return true;
}

// False if the sequence itself had to give way, or is alone and still has no room.
bool Scheduler::ReserveOrPreempt(Sequence& sequence, int64_t tokens, StepPlan& plan) {
  while (!memory_.Reserve(sequence.spec.id, tokens)) {
    const Ranked running = Running();
    const bool alone = running.size() == 1;
    if (memory_.ReleaseOthers(alone ? kBestPriority : EffectivePriority(*running.back()))) continue;
    if (alone) {
      plan.oversized.push_back(sequence.spec.id);
      return false;
    }
    Preempt(*running.back(), plan);
    if (running.back() == &sequence) return false;
  }
  return true;
}

void Scheduler::Preempt(Sequence& sequence, StepPlan& plan) {
  const SequenceId id = sequence.spec.id;
  memory_.Reserve(id, 0);
  memory_.Release(id);
  if (sequence.state == SequenceState::kDecode) sequence.spec.all_rows = false;  // the prompt's rows were had
  Transition(sequence, SequenceEvent::kPreempt);
  sequence.computed = 0;
  sequence.preempted_step = step_;
  ++preemptions_;
  plan.preempted.push_back(id);
  const auto planned =
      std::find_if(plan.work.begin(), plan.work.end(), [&](const Work& work) { return work.id == id; });
  if (planned == plan.work.end()) return;
  --plan.shape.decode_sequences;  // prompts are planned best first, so work that is taken back is a decode
  plan.work.erase(planned);
}

}  // namespace inferd::scheduler
