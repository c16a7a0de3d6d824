// A model that answers requests: any number of callers, one thread that computes.
//
//   ASSIGN_OR_RETURN(auto engine, Engine::Create(std::move(device), std::move(vocabulary), options));
//   auto queue = std::make_shared<EventQueue>(1 << 20, [] { ... });
//   ASSIGN_OR_RETURN(RequestId id, engine->Submit(std::move(request), queue));
//   engine->Cancel(id);
//
// All methods may be called from any thread. Events arrive in the request's queue.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/base/call_once.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "config/base/clock.h"
#include "config/base/steady_mutex.h"
#include "engine/constraint/constraint_cache.h"
#include "engine/device/device.h"
#include "engine/generation/core.h"
#include "engine/generation/embedder.h"
#include "engine/scheduler/admission.h"

namespace inferd::engine {

enum class Guessing { kOff, kNgram, kDraft };

struct EngineOptions {
  int64_t max_sequences = 32;
  int64_t prefill_tokens = 256;  // of prompts, in one step
  scheduler::QueueLimits queue;  // max_sequences and prefill_tokens are taken from above
  scheduler::Rates rates;        // measured before; a queue expects no waits until something is
  Guessing guessing = Guessing::kOff;
  SpeculationLimits speculation;
};

// What a device must be made for, so that every step of such an engine fits. `device.context_tokens` must be set.
void SizeDevice(const EngineOptions& options, const model::DecoderSpec& spec, device::DeviceOptions& device);
// The same for the device of a draft model.
void SizeDraftDevice(const EngineOptions& options, device::DeviceOptions& device);

class Engine {
 public:
  // `draft`: where guessing is by a draft model. INVALID_ARGUMENT: the KV cache holds not even a sequence of 64 tokens,
  // or the model takes no guesses.
  static absl::StatusOr<std::unique_ptr<Engine>> Create(std::unique_ptr<device::Device> device, Vocabulary vocabulary,
                                                        const EngineOptions& options,
                                                        const Clock& clock = Clock::System(),
                                                        std::unique_ptr<device::Device> draft = nullptr);
  ~Engine();

  // Errors of Validate(); RESOURCE_EXHAUSTED: the queue is full or the expected wait too long (refusal.h tells how
  // long); UNAVAILABLE: draining. A request that has waited too long ends with RESOURCE_EXHAUSTED in its queue.
  absl::StatusOr<RequestId> Submit(GenerationRequest request, std::shared_ptr<EventQueue> queue);

  // A constraint for requests to this engine. Errors of source.compile and ConstraintCache::Get. Milliseconds, and more
  // for the first.
  absl::StatusOr<constraint::Constraint> Constrain(const constraint::ConstraintSource& source);

  // The errors of Validate() alone, for callers that have more to do before Submit.
  absl::Status Check(const GenerationRequest& request);

  // Vectors of texts; `done` is called on the engine's thread. The same errors, and the same queue.
  absl::Status Embed(EmbeddingRequest request);

  // The request ends with CANCELLED before the next step; nothing happens if it has ended.
  void Cancel(RequestId id);

  // Refuses new requests from now on and waits until the others have ended or the deadline has passed. Returns how
  // many are left.
  size_t Drain(MonotonicTime deadline);

  // Ends the requests that are left with UNAVAILABLE, and the thread. Only Stats is of use after it.
  void Stop();

  // As of the last step, but for its progress; never waits for one.
  Statistics Stats() const;
  bool draining() const;
  // Changes again and again while anything is computed, generation or embedding, also within a step; never waits for
  // one. By this a watchdog tells a long step from one that hangs.
  uint64_t progress() const;

  // A request's cache_salt for a tenant of this name.
  uint64_t SaltOf(std::string_view name) const { return device_->cache().SaltOf(name); }

  const RequestLimits& limits() const { return limits_; }
  device::Device& device() { return *device_; }

 private:
  struct Arrival {
    RequestId id;
    GenerationRequest request;
    std::shared_ptr<EventQueue> queue;
    scheduler::Arrival counted;
  };
  struct EmbeddingArrival {
    EmbeddingRequest request;
    scheduler::Arrival counted;
  };
  struct Inbox {
    std::vector<Arrival> arrivals;
    std::vector<RequestId> cancelled;
    std::vector<EmbeddingArrival> embeddings;
    bool empty() const { return arrivals.empty() && cancelled.empty() && embeddings.empty(); }
  };

  Engine(std::unique_ptr<device::Device> device, Vocabulary vocabulary, const EngineOptions& options,
         const RequestLimits& limits, const kernels::Kernels& kernels, const Clock& clock,
         std::unique_ptr<device::Device> draft);
  std::unique_ptr<Drafter> MakeDrafter(const kernels::Kernels& kernels);
  std::shared_ptr<const sampling::TokenTexts> Texts();
  absl::Status CountTooLong(absl::Status status);
  absl::Status PrepareSampling(GenerationRequest& request);
  void Run();
  scheduler::Arrival Describe(const GenerationRequest& request, MonotonicTime now) const;
  static scheduler::Arrival Describe(const EmbeddingRequest& request, MonotonicTime now);
  // Counts the arrival, or says why it is refused.
  absl::Status Admit(const scheduler::Arrival& arrival) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Take(Inbox inbox);
  bool Step();
  void Publish();

  const EngineOptions options_;
  const RequestLimits limits_;
  const Clock& clock_;
  const std::unique_ptr<device::Device> device_;
  const Vocabulary vocabulary_;
  DeviceRunner runner_;
  const std::unique_ptr<device::Device> draft_device_;  // or null
  std::unique_ptr<DeviceRunner> draft_runner_;
  Core core_;          // of the engine's thread alone
  Embedder embedder_;  // the same
  absl::once_flag texts_once_;
  std::shared_ptr<const sampling::TokenTexts> texts_;  // made for the first request that needs it
  absl::once_flag constraints_once_;
  std::unique_ptr<constraint::ConstraintCache> constraints_;  // the same

  mutable SteadyMutex mutex_;
  Inbox inbox_ ABSL_GUARDED_BY(mutex_);
  RequestId last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // As of the last step, and of what is in the inbox.
  scheduler::Load load_ ABSL_GUARDED_BY(mutex_);
  // As of the last step.
  Statistics statistics_ ABSL_GUARDED_BY(mutex_);
  scheduler::Rates rates_ ABSL_GUARDED_BY(mutex_);
  size_t requests_ ABSL_GUARDED_BY(mutex_) = 0;  // in the core and in the inbox
  std::map<std::string, uint64_t> rejections_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;
};

// Name of the kernels that `isa` means on this processor, the best for ""; empty if it does not run them.
std::string KernelVariant(const std::string& isa);

}  // namespace inferd::engine
