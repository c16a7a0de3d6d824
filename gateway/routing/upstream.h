// What all requests share on their way to workers.
//
//   Upstream upstream{routes, workers, poison, gate};
//   WorkerSearch search(upstream, wanted, executor);
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "config/base/clock.h"
#include "gateway/async/signal.h"
#include "gateway/routing/running_generations.h"

namespace inferd::gateway {

class PoisonList;
class ResumeGate;
class Routes;
class WorkerPool;

struct Upstream {
  Routes& routes;
  WorkerPool& workers;
  PoisonList& poison;
  ResumeGate& gate;
  // Longest wait for a worker that is about to be ready: at the start, and in the middle of a stream.
  std::chrono::milliseconds start_wait{10'000};
  std::chrono::milliseconds resume_wait{60'000};
  // And at the start for one that is loaded because of the request.
  std::chrono::milliseconds load_wait{60'000};
  // So long goes a call on alone that may have killed and gives no sign of its getting further.
  std::chrono::milliseconds call_turn{5'000};
  // The daemon ends: what runs is finished, nothing is begun.
  std::atomic<bool> shutting_down{false};
  // Asks the supervisor to load a model; null: nobody can be asked.
  std::function<Task<absl::Status>(std::string model, Executor executor)> ensure_loaded = nullptr;
  // A request of this model went on after it had lost its worker.
  std::function<void(const std::string& model)> on_resumed = [](const std::string&) {};
  RunningGenerations running{};
  const Clock& clock = Clock::System();
};

// For Retry-After where a model is not ready and nothing says when it will be.
inline constexpr int kNotReadyRetrySeconds = 5;

}  // namespace inferd::gateway
