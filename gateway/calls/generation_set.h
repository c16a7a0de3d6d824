// Several generations of one request (its prompts), a bounded number of them at a time, as one stream of events. Where
// the worker's queue is full of them, the others wait until one of them is through.
//
//   GenerationSet set(upstream, std::move(requests), options, executor);
//   GenerationSet::Batch batch = co_await set.Next(now + 15s);
//   for (const auto& [prompt, event] : batch.events) ...
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gateway/calls/generation.h"

namespace inferd::gateway {

class GenerationSet {
 public:
  // Events in order for each prompt (its index among the requests); `end` after the last: OK, or the first error of
  // any. Both empty: the deadline passed.
  struct Batch {
    std::vector<std::pair<uint32_t, v1::GenerateEvent>> events;
    std::optional<absl::Status> end;
  };
  static constexpr size_t kParallel = 64;
  // A generation rests while this many events wait for the consumer.
  static constexpr size_t kMaxWaitingEvents = 4096;

  GenerationSet(Upstream& upstream, std::vector<v1::GenerateRequest> requests, const Generation::Options& options,
                const Executor& executor);
  // Cancels what still runs.
  ~GenerationSet();
  GenerationSet(const GenerationSet&) = delete;
  GenerationSet& operator=(const GenerationSet&) = delete;

  Task<Batch> Next(TimePoint deadline);
  // Ends the set with CANCELLED; the workers are told at once.
  void Cancel();

 private:
  struct State;
  static Task<void> RunPrompts(std::shared_ptr<State> state);
  static Task<std::optional<absl::Status>> RunOne(std::shared_ptr<State> state, uint32_t prompt);

  std::shared_ptr<State> state_;
};

}  // namespace inferd::gateway
