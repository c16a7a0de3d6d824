#include "gateway/calls/generation_set.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <set>

namespace inferd::gateway {

// Shared with the coroutines that run the prompts, which may outlast the set by a moment.
struct GenerationSet::State {
  State(Upstream& up, std::vector<v1::GenerateRequest> all, Generation::Options opts, const Executor& on)
      : upstream(up), requests(std::move(all)), options(std::move(opts)), executor(on), changed(on) {}

  void End(absl::Status status) {
    if (waiting.end) return;
    waiting.end = std::move(status);
    for (Generation* generation : running_generations) generation->Cancel();
    WakeResting();
    changed.Notify();
  }

  // Until something that a runner may wait for has changed.
  Task<void> Rest() {
    Signal woken(executor);
    resting_runners.insert(&woken);
    co_await woken.Wait(TimePoint::max());
    resting_runners.erase(&woken);
  }
  void WakeResting() {
    for (Signal* resting : resting_runners) resting->Notify();
  }

  Upstream& upstream;
  std::vector<v1::GenerateRequest> requests;
  const Generation::Options options;
  const Executor executor;
  Signal changed;
  Batch waiting;
  size_t next = 0;
  size_t runners = 0;
  // Generations that a worker had begun and that have ended.
  size_t ended = 0;
  std::set<Generation*> running_generations;
  std::set<Signal*> resting_runners;
};

GenerationSet::GenerationSet(Upstream& upstream, std::vector<v1::GenerateRequest> requests,
                             const Generation::Options& options, const Executor& executor)
    : state_(std::make_shared<State>(upstream, std::move(requests), options, executor)) {
  // A runner may be through with all prompts before the next one starts.
  const size_t runners = std::min(kParallel, state_->requests.size());
  state_->runners = runners;
  for (size_t i = 0; i < runners; ++i) {
    boost::asio::co_spawn(executor, RunPrompts(state_), boost::asio::detached);
  }
}

GenerationSet::~GenerationSet() { Cancel(); }

void GenerationSet::Cancel() { state_->End(absl::CancelledError("the client is gone")); }

Task<void> GenerationSet::RunPrompts(std::shared_ptr<State> state) {
  while (!state->waiting.end && state->next < state->requests.size()) {
    uint32_t prompt = static_cast<uint32_t>(state->next++);
    std::optional<absl::Status> end = co_await RunOne(state, prompt);
    if (end && !end->ok()) state->End(*end);
  }
  if (--state->runners == 0) state->End(absl::OkStatus());
}

// The status of a prompt's end; nothing if the set ended before.
Task<std::optional<absl::Status>> GenerationSet::RunOne(std::shared_ptr<State> state, uint32_t prompt) {
  while (true) {
    const size_t ended_before = state->ended;
    Generation generation(state->upstream, std::move(state->requests[prompt]), state->options, state->executor);
    state->running_generations.insert(&generation);
    std::optional<absl::Status> end;
    while (!end) {
      GenerationBatch batch = co_await generation.Next();
      if (state->waiting.end) break;
      for (v1::GenerateEvent& event : batch.events) state->waiting.events.emplace_back(prompt, std::move(event));
      if (!batch.events.empty()) state->changed.Notify();
      end = std::move(batch.end);
      while (state->waiting.events.size() >= kMaxWaitingEvents && !state->waiting.end) co_await state->Rest();
    }
    state->running_generations.erase(&generation);
    if (generation.accepted()) {
      ++state->ended;
      state->WakeResting();
    }
    // It is our own prompts that fill the queue, unless none has run meanwhile.
    bool refused = end && absl::IsResourceExhausted(*end) && !generation.accepted();
    bool alone = state->running_generations.empty() && state->ended == ended_before;
    if (!refused || alone) co_return end;
    state->requests[prompt] = generation.TakeRequest();
    while (state->ended == ended_before && !state->waiting.end) co_await state->Rest();
    if (state->waiting.end) co_return std::nullopt;
  }
}

Task<GenerationSet::Batch> GenerationSet::Next(TimePoint deadline) {
  std::shared_ptr<State> state = state_;
  while (state->waiting.events.empty() && !state->waiting.end) {
    if (!co_await state->changed.Wait(deadline)) co_return Batch();
  }
  Batch batch;
  batch.events.swap(state->waiting.events);
  batch.end = state->waiting.end;
  state->WakeResting();
  co_return batch;
}

}  // namespace inferd::gateway
