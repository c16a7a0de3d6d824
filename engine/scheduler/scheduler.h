// Decides what each step of the engine computes. A pure state machine: no threads, no clock of its own, no kernels.
//
//   scheduler.Add({.id = 1, .tokens = 115, .arrival = now});
//   StepPlan plan = scheduler.Plan(now);
//   ... run plan.work, sample ...
//   scheduler.Computed(plan.work);
//   scheduler.Append(1);            // a token was sampled: one more to compute;  or scheduler.Finish(1)
//
// Each step takes every decoding sequence and at most `prefill_tokens` of prompt work. Half of that work goes to the
// prompts with the least left, for an early first token, and half to the prompts in turns, so that none starves; a
// better priority goes before both, and waiting makes a priority better. Beside running streams the prompt work is
// bounded further, so that a step takes less than twice as long as without it; it takes longer where there are more
// prompts than streams, or several that are short. Where the cache has no room for a running sequence, the youngest of
// the lowest priority gives way: it loses its pages and computes its tokens again later; before it, those of no better
// priority who share the cache. A waiting sequence takes the place of a running one, or of those, only where its
// priority is better. A prompt's work stops where a follower goes on from it, and where the prefix cache can keep its
// recurrent state.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "config/base/clock.h"
#include "engine/scheduler/admission.h"
#include "engine/scheduler/kv_memory.h"
#include "engine/scheduler/prefill_share.h"
#include "engine/scheduler/rates.h"
#include "engine/scheduler/sequence.h"

namespace inferd::scheduler {

struct SchedulerOptions {
  int64_t max_sequences = 32;     // running at once
  int64_t prefill_tokens = 256;   // of one step
  int64_t max_result_rows = 40;   // of one step; those over max_sequences are for sequences that want all rows
  int64_t draft_tokens = 0;       // guesses that one step checks, in addition to all else
  int64_t state_page_tokens = 0;  // of models with a recurrent state, which is kept at pages' ends; 0: of others
  double ageing_seconds = kAgeingSeconds;
};

// Tokens first .. first + count - 1 of a sequence are to be computed; the last `drafts` of them are guesses.
struct Work {
  SequenceId id;
  int64_t first, count;
  bool completes;  // the last known token is among them: its logits give the next one
  bool decode;     // of a sequence that generates, else of a prompt
  int64_t drafts = 0;
};

struct StepPlan {
  std::vector<Work> work;
  std::vector<SequenceId> preempted;  // lost their pages, will be admitted again
  std::vector<SequenceId> expired;    // past their deadline, cancelled
  std::vector<SequenceId> oversized;  // alone in the whole cache and yet without room, cancelled
  StepShape shape;
};

class Scheduler {
 public:
  // `memory` must outlive the scheduler.
  Scheduler(const SchedulerOptions& options, KvMemory& memory) : options_(options), memory_(memory) {}

  void Add(const SequenceSpec& spec);
  // Ends a sequence in any state and gives its pages back; unknown ids are ignored (it may have ended just before).
  void Cancel(SequenceId id);

  // There are guesses for this many tokens of a sequence that decodes. The next plan takes them where they find room
  // without costing anybody anything, and forgets them else.
  void Draft(SequenceId id, int64_t tokens);
  StepPlan Plan(MonotonicTime now);
  // The work was computed.
  void Computed(std::span<const Work> work);
  // A completed sequence has got one more token.
  void Append(SequenceId id);
  // Instead of Append: the tokens of a completed sequence have changed. It computes them all again, in its old rank.
  void Restart(SequenceId id, int64_t tokens);
  // The token that Append added had been guessed: it is computed already.
  void Accept(SequenceId id);
  // A completed sequence has ended.
  void Finish(SequenceId id);

  // Since the last call.
  std::vector<Heir> TakeHeirs() { return std::exchange(heirs_, {}); }

  bool idle() const { return sequences_.empty(); }
  const Sequence* Find(SequenceId id) const;
  // Without waiting_requests: the scheduler knows sequences alone.
  Load load() const;
  uint64_t preemptions() const { return preemptions_; }
  uint64_t steps() const { return step_; }
  Rates& rates() { return rates_; }
  const Rates& rates() const { return rates_; }

 private:
  using Ranked = std::vector<Sequence*>;
  using Stops = std::map<SequenceId, int64_t>;  // tokens of a leader after which its followers go on

  using Rank = std::tuple<int, MonotonicTime, SequenceId>;  // effective priority, arrival; the least goes first
  using Queue = std::priority_queue<std::pair<Rank, Sequence*>, std::vector<std::pair<Rank, Sequence*>>,
                                    std::greater<>>;  // the best on top

  Ranked Running() const;  // the best first
  Queue Waiting();
  int64_t CountRunning() const { return static_cast<int64_t>(running_.size()); }
  int EffectivePriority(const Sequence& sequence) const;
  Rank RankOf(const Sequence& sequence) const;

  void Expire(StepPlan& plan);
  void PlanDecodes(StepPlan& plan);
  void AdmitWaiting(StepPlan& plan);
  Streams Decoding(const StepPlan& plan) const;
  void PlanPrefills(StepPlan& plan);
  void PlanDrafts(StepPlan& plan);
  void HandOver(Sequence& leader);
  bool WaitsForLeader(const Sequence& sequence) const;
  Stops StopsForFollowers() const;
  int64_t TokensToStop(const Sequence& sequence, const Stops& stops) const;
  bool Admit(Sequence& sequence);
  bool Displace(const Sequence& by, StepPlan& plan);
  bool ReserveOrPreempt(Sequence& sequence, int64_t tokens, StepPlan& plan);
  int64_t FreeBlocks() const;
  void AddRunning(Load& load) const;
  std::vector<int64_t> FreedBlocks(const Ranked& in_order) const;
  void AddWork(Sequence& sequence, int64_t count, StepPlan& plan);
  void Preempt(Sequence& sequence, StepPlan& plan);
  void Transition(Sequence& sequence, SequenceEvent event);
  void Remove(Sequence& sequence, SequenceEvent event);

  SchedulerOptions options_;
  KvMemory& memory_;
  std::map<SequenceId, Sequence> sequences_;  // waiting and running ones
  Ranked running_;                            // of these, in no order
  std::vector<Heir> heirs_;
  Rates rates_;
  MonotonicTime now_;
  uint64_t step_ = 0;
  uint64_t preemptions_ = 0;
};

}  // namespace inferd::scheduler
