// Vectors of texts, computed between the steps of generation by the same thread and in the same KV cache.
//
//   Embedder embedder(device, limits);
//   embedder.Submit({.inputs = {tokens}, .done = [](auto vectors) { ... }}, clock.Now());
//   while (embedder.Step(clock.Now(), rates, 256) > 0) {}      // one forward pass each
//   embedder.ReleaseAll();                      // between passes, where somebody else needs the pages
//
// A pass takes parts of as many inputs as fit; an input of a decoder may take several passes, an encoder sees each
// input whole. Results do not depend on that.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/base/clock.h"
#include "engine/device/device.h"
#include "engine/model/forward.h"
#include "engine/scheduler/admission.h"

namespace inferd::engine {

using Vectors = std::vector<std::vector<float>>;

// As scheduler::Load counts it.
struct EmbeddingLoad {
  int64_t requests = 0, waiting_requests = 0;  // all of them; those that have not begun
  int64_t tokens = 0;                          // not computed yet
};

struct EmbeddingRequest {
  std::vector<std::vector<int32_t>> inputs;  // token ids, none empty
  std::optional<MonotonicTime> deadline;
  std::shared_ptr<std::atomic<bool>> cancelled;       // may be nullptr
  std::function<void()> begun;                        // may be nullptr; called once, before its first pass
  std::function<void(absl::StatusOr<Vectors>)> done;  // called once, on the engine's thread; one vector an input
};

// INVALID_ARGUMENT, or OUT_OF_RANGE where an input is longer than the context; with the number of the input.
absl::Status Validate(const EmbeddingRequest& request, int32_t vocabulary_size, int64_t most_tokens);

class Embedder {
 public:
  // At once in the cache, beside those that generate.
  static constexpr size_t kMostSequences = 16;

  explicit Embedder(device::Device& device, const scheduler::QueueLimits& limits = {.max_wait_seconds = 0})
      : device_(device), limits_(limits) {}

  // Of a valid request.
  void Submit(EmbeddingRequest request, MonotonicTime arrival);
  // One pass of at most so many tokens (no fewer than an encoder's longest text). Requests that have waited too long
  // are refused with a status of refusal.h. Returns the tokens computed; 0: there was nothing to do, or no room in the
  // cache.
  int64_t Step(MonotonicTime now, const scheduler::Rates& rates, int64_t most_tokens);
  // Gives back the pages of all inputs that were begun: they begin again. False: there were none.
  bool ReleaseAll() { return ReleaseAfter(0); }
  bool idle() const { return jobs_.empty(); }
  size_t requests() const { return jobs_.size(); }
  EmbeddingLoad load() const;
  const std::map<std::string, uint64_t>& rejections() const { return rejections_; }
  // Ends all requests with this status.
  void CancelAll(const absl::Status& status);

 private:
  struct Input {
    std::unique_ptr<cache::Sequence> sequence;
    std::vector<float> hidden;  // [n_embd]: the first or last token's row, or the sum of the rows so far
    bool complete = false;
  };
  struct Job {
    EmbeddingRequest request;
    MonotonicTime arrival;
    int64_t tokens_left = 0;
    bool begun = false;
    std::vector<Input> inputs;
    size_t first_open = 0;  // inputs before it are complete
    Vectors vectors;
  };
  struct Part {
    Job* job;
    size_t input;
    int64_t tokens;
  };

  void DropEnded(MonotonicTime now, const scheduler::Rates& rates);
  std::optional<absl::Status> EndOf(const Job& job, MonotonicTime now, const scheduler::Rates& rates,
                                    double expected_wait);
  std::vector<Part> PlanPass(int64_t most_tokens);
  std::optional<Part> PlanInput(Job& job, size_t input, int64_t tokens_left, int64_t rows_left);
  absl::Status RunPass(const std::vector<Part>& parts);
  void TakeRow(const Part& part, std::span<const float> row);
  absl::Status FinishInput(const Part& part);
  model::Pooling PooledBy() const;  // of a ranking model, what its head takes
  bool PoolsLastToken() const;
  bool ReleaseAfter(size_t kept);

  device::Device& device_;
  const scheduler::QueueLimits limits_;
  std::map<std::string, uint64_t> rejections_;  // by reason
  std::deque<std::unique_ptr<Job>> jobs_;
};

}  // namespace inferd::engine
