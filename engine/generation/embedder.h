// Vectors of texts, computed between the steps of generation by the same thread and in the same KV cache.
//
//   Embedder embedder(device, limits);
//   embedder.Submit({.inputs = {tokens}, .done = [](auto vectors) { ... }}, clock.Now());
//   while (embedder.Step(clock.Now(), rates, core.load(), 256) > 0) {}      // one forward pass each
//   embedder.Release(priority, clock.Now());    // between passes, where somebody else needs the pages
//
// A pass is divided among the requests as a step is among prompts (scheduler/prefill_share.h), however many inputs each
// has; a request that no pass takes anything of gets a better priority. An input of a decoder may take several passes,
// an encoder sees each input whole. Results do not depend on that.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/base/clock.h"
#include "engine/device/device.h"
#include "engine/forward/forward.h"
#include "engine/generation/request.h"
#include "engine/scheduler/admission.h"
#include "engine/scheduler/priority.h"

namespace inferd::engine {

using Vectors = std::vector<std::vector<float>>;

struct EmbeddingRequest {
  std::vector<std::vector<int32_t>> inputs;  // token ids, none empty
  // Index of the second text's first token in each input, or forward::kOneText. Empty: each is one text.
  std::vector<int64_t> second_texts;
  scheduler::Priority priority = scheduler::Priority::kNormal;
  std::optional<MonotonicTime> deadline;
  std::shared_ptr<std::atomic<bool>> cancelled;       // may be nullptr
  std::function<void()> begun;                        // may be nullptr; called once, before its first pass
  std::function<void(absl::StatusOr<Vectors>)> done;  // called once, on the engine's thread; one vector an input
};

// INVALID_ARGUMENT, or OUT_OF_RANGE where an input is longer than the context or the KV cache; with the number of the
// input.
absl::Status Validate(const EmbeddingRequest& request, const RequestLimits& limits);

class Embedder {
 public:
  // At once in the cache, beside those that generate; and of these, the most that stay there from pass to pass, so that
  // a short input finds a place among long ones.
  static constexpr size_t kMostSequences = 16, kMostOpen = kMostSequences / 2;

  explicit Embedder(device::Device& device, const scheduler::QueueLimits& limits = {.max_wait_seconds = 0})
      : device_(device), limits_(limits) {}

  // Of a valid request.
  void Submit(EmbeddingRequest request, MonotonicTime arrival);
  // One pass of at most so many tokens (no fewer than an encoder's longest text), beside `others` that generate.
  // Requests that have waited too long are refused with a status of refusal.h. Returns the tokens computed; 0: there
  // was nothing to do, or no room in the cache.
  int64_t Step(MonotonicTime now, const scheduler::Rates& rates, const scheduler::Load& others, int64_t most_tokens);
  // Of the inputs that were begun, the last in rank gives its pages back if its effective priority is not better than
  // this, and begins again later. False: there is none.
  bool Release(int priority, MonotonicTime now);
  bool idle() const { return jobs_.empty(); }
  size_t requests() const { return jobs_.size(); }
  // The load of others who share the engine, and that of these requests.
  scheduler::Load LoadBeside(scheduler::Load others, MonotonicTime now) const;
  const std::map<std::string, uint64_t>& rejections() const { return rejections_; }
  // Ends all requests with this status.
  void CancelAll(const absl::Status& status);

 private:
  struct Input {
    std::unique_ptr<cache::Sequence> sequence;
    bool has_place = false;     // among those that stay open from pass to pass
    std::vector<float> hidden;  // [n_embd]: the first or last token's row, or the sum of the rows so far
  };
  struct Job {
    EmbeddingRequest request;
    MonotonicTime arrival;
    MonotonicTime last_served, last_answer;  // when a pass took part of it, or completed an input; at first the arrival
    uint64_t last_served_pass = 0;           // at first the pass before its arrival
    int64_t tokens_left = 0;
    bool begun = false;
    std::vector<Input> inputs;
    size_t first_open = 0;  // inputs before it are complete, those behind it not begun
    Vectors vectors;

    bool open() const { return first_open < inputs.size() && inputs[first_open].sequence != nullptr; }
    int64_t tokens_of(size_t input) const { return static_cast<int64_t>(request.inputs[input].size()); }
    int64_t second_text_of(size_t input) const {
      return request.second_texts.empty() ? forward::kOneText : request.second_texts[input];
    }
    // In the order of turns, and among those that hold pages.
    int TurnPriority(MonotonicTime now) const { return AgedPriority(last_served, now); }
    int PagePriority(MonotonicTime now) const { return AgedPriority(last_answer, now); }

   private:
    int AgedPriority(MonotonicTime since, MonotonicTime now) const {
      return scheduler::AgedPriority(request.priority, since, now, scheduler::kAgeingSeconds);
    }
  };
  struct Part {
    Job* job;
    size_t input;
    int64_t tokens;
  };
  struct Turn {  // of a job, in a pass
    Job* job;
    size_t input;                // whose tokens come next
    std::optional<size_t> part;  // of that input, in the pass
  };
  struct Pass {
    MonotonicTime now;
    std::vector<Part> parts;
    int64_t tokens_left;
    int64_t sequences_left;  // that may begin
    int64_t open_left;       // of these, that may stay open after the pass,
    int64_t blocks_left;     // and the cache's room for them
    bool closed = false;     // none may stay open any more
  };

  void DropEnded(MonotonicTime now, const scheduler::Rates& rates, const scheduler::Load& others);
  std::optional<absl::Status> EndOf(const Job& job, MonotonicTime now, const scheduler::Rates& rates,
                                    const scheduler::Load& others);
  void AddTo(scheduler::Load& load, MonotonicTime now, const Job* but) const;
  void AnswerComplete();

  // embedder_pass.cc
  std::vector<Part> PlanPass(MonotonicTime now, const scheduler::Load& others, int64_t most_tokens);
  Pass EmptyPass(MonotonicTime now, const scheduler::Load& others, int64_t most_tokens) const;
  void Take(Turn& turn, int64_t most_tokens, Pass& pass);
  int64_t TakeInput(Turn& turn, int64_t most_tokens, Pass& pass);
  bool Begin(Job& job, size_t index, int64_t tokens, Pass& pass);
  void Displace(const Job& by, int64_t blocks, Pass& pass);
  absl::Status RunPass(const std::vector<Part>& parts, MonotonicTime now);
  void TakeRow(const Part& part, std::span<const float> row);
  absl::Status FinishInput(const Part& part, MonotonicTime now);
  model::Pooling PooledBy() const;  // of a ranking model, what its head takes
  bool PoolsLastToken() const;
  static void GiveBack(Job& job);  // the pages of its open input
  Job* LastOpen(MonotonicTime now) const;
  int64_t CountOpen() const;

  device::Device& device_;
  const scheduler::QueueLimits limits_;
  std::map<std::string, uint64_t> rejections_;  // by reason
  std::vector<std::unique_ptr<Job>> jobs_;      // by arrival
  uint64_t passes_ = 0;
};

}  // namespace inferd::engine
