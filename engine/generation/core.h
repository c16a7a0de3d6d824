// The engine without its thread: requests in, one step at a time, events out. engine.h puts it on a thread.
//
//   Core core(options, runner, cache, vocabulary, kernels);
//   core.Submit(id, std::move(request), queue, clock.Now());
//   while (core.Step()) {}
//
// A step: plan, forward pass, then for each sequence that has logits: sample, detokenize, send. Cancellation takes
// effect before the next step.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "config/base/clock.h"
#include "engine/generation/choice.h"
#include "engine/generation/event_queue.h"
#include "engine/generation/prefix_leaders.h"
#include "engine/generation/request.h"
#include "engine/generation/sequence_memory.h"
#include "engine/generation/speculation.h"
#include "engine/generation/statistics.h"
#include "engine/generation/step_runner.h"
#include "engine/generation/vocabulary.h"
#include "engine/scheduler/scheduler.h"

namespace inferd::engine {

using RequestId = uint64_t;

struct CoreOptions {
  scheduler::SchedulerOptions scheduler;
  RequestLimits limits;
  scheduler::QueueLimits queue{.max_wait_seconds = 0};  // of requests that were taken, the longest wait counts
  scheduler::Rates rates;                               // at the start
  bool prefix_reuse = true;
  SpeculationLimits speculation;
  // Called in a step where generation lacks room: others who share the cache give back what they hold, as
  // KvMemory::ReleaseOthers says.
  std::function<bool(int priority)> release_others = [](int) { return false; };
};

class Core {
 public:
  // All references outlive the core.
  Core(const CoreOptions& options, StepRunner& runner, cache::KvCache& cache, const Vocabulary& vocabulary,
       const kernels::Kernels& kernels, const Clock& clock, std::unique_ptr<Drafter> drafter = nullptr);

  // `request` is valid. Its events go to `queue`, which is closed when all is sent. `accepted` is sent when its first
  // tokens are about to be computed, or there is something to tell without that: until then it may be refused, with a
  // status of refusal.h, unless it is resumed.
  void Submit(RequestId id, GenerationRequest request, std::shared_ptr<EventQueue> queue, MonotonicTime arrival);
  // Ends a request with this status; unknown ids are ignored.
  void Cancel(RequestId id, absl::Status status);

  // False: there was nothing to do.
  bool Step();

  bool idle() const { return requests_.empty(); }
  size_t requests() const { return requests_.size(); }
  std::vector<RequestId> RequestIds() const;
  scheduler::Load load() const;
  // A pass that others who share the engine's time have made.
  void PassDone(int64_t tokens, double seconds) { scheduler_.rates().StepDone({.prefill_tokens = tokens}, seconds); }
  const scheduler::Rates& rates() const { return scheduler_.rates(); }
  Statistics statistics() const;
  // Results of passes that were taken, also within a step; asked by any thread.
  uint64_t rows_taken() const { return rows_taken_.load(std::memory_order_relaxed); }

 private:
  static double Seconds(MonotonicTime from, MonotonicTime to) {
    return std::chrono::duration<double>(to - from).count();
  }

  struct Request {
    RequestId id;
    GenerationRequest request;
    std::shared_ptr<EventQueue> queue;
    MonotonicTime arrival;
    std::shared_ptr<const output::StopTexts> stops;
    uint32_t choices_left = 0;
    int64_t known_tokens = 0;                      // of the prompt in the prefix cache when it came
    bool begun = false;                            // `accepted` was sent
    std::vector<scheduler::SequenceId> sequences;  // that the scheduler knows
  };
  struct Active {
    Request* request;
    std::unique_ptr<Choice> choice;
    bool begun = false;
    std::optional<MonotonicTime> first_token, last_token;
  };

  void Begin(Request& request);
  void Begin(scheduler::SequenceId id);
  void StartChoice(Request& request, uint32_t index);
  void ProposeDrafts();
  void RefuseWaiting(MonotonicTime now);
  scheduler::Arrival ArrivalOf(const Request& request) const;
  int64_t KnownTokens(const Request& request) const;
  std::vector<forward::SequenceStep> StepsFor(std::span<const scheduler::Work> work);
  // Returns how many tokens those got that generated before.
  void FailWork(std::span<const scheduler::Work> work, const absl::Status& status);
  // Adds to stream_tokens what decoding sequences got.
  absl::Status HandleResults(std::span<const scheduler::Work> work, forward::ForwardResult& result,
                             int64_t& stream_tokens);
  absl::Status HandlePromptRows(Active& active, const scheduler::Work& work, forward::ForwardResult& result,
                                int64_t row);
  absl::Status AdvanceGuessed(const scheduler::Work& work, Active& active, forward::ForwardResult& result, int64_t row);
  bool AdvanceChoice(scheduler::SequenceId id, Active& active, std::span<float> logits);
  void FinishChoice(scheduler::SequenceId id, const Finish& finish);
  static uint32_t CachedOfPrompt(const Request& request, const scheduler::Sequence& sequence);
  Finished FinishedEvent(const Active& active, const scheduler::Sequence* sequence, const Finish& finish) const;
  void CountFinished(const Finished& event, MonotonicTime arrival);
  void HandOver();  // what cancelled sequences led
  void Send(Request& request, Event event);
  void EndPlanned(scheduler::StepPlan& plan);
  void DropUnread();
  bool WantsAllRows(const Active& active) const;

  const CoreOptions options_;
  StepRunner& runner_;
  cache::KvCache& cache_;
  const Vocabulary& vocabulary_;
  const kernels::Kernels& kernels_;
  const Clock& clock_;
  SequenceMemory memory_;
  scheduler::Scheduler scheduler_;
  PrefixLeaders leaders_;
  Speculation speculation_;
  std::map<RequestId, std::unique_ptr<Request>> requests_;
  std::set<RequestId> waiting_;  // of these, those that have not begun
  std::map<scheduler::SequenceId, Active> active_;
  scheduler::SequenceId last_sequence_ = 0;
  std::vector<std::vector<int32_t>> step_pieces_;  // of the step's tokens, those that lie in two parts of their text
  std::vector<RequestId> unread_;                  // their readers have fallen too far behind
  Statistics statistics_;
  std::atomic<uint64_t> rows_taken_{0};
};

}  // namespace inferd::engine
