// The engine's thread, and the doors to it.
#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "config/base/status.h"
#include "engine/generation/model_drafter.h"
#include "engine/generation/ngram_drafter.h"

namespace inferd::engine {
namespace {

constexpr char kRetryAfterPayload[] = "inferd.dev/retry-after-seconds";
constexpr int64_t kPromptRows = 8;  // results of prompts beside one row a sequence
constexpr absl::Duration kNothingPlanned = absl::Milliseconds(10);

absl::Status WithRetryAfter(absl::Status status, double seconds) {
  status.SetPayload(kRetryAfterPayload, absl::Cord(fmt::format("{}", seconds)));
  return status;
}

const char* ReasonName(scheduler::RejectionReason reason) {
  return reason == scheduler::RejectionReason::kDeadline ? "deadline" : "queue_full";
}

// Guesses of one step; without guessing, for the tokens of resumed requests that are computed anew.
int64_t DraftTokens(const EngineOptions& options, const model::DecoderSpec& spec) {
  if (model::HasRecurrentState(spec) || spec.encoder) return 0;
  if (options.guessing == Guessing::kOff) return kPromptRows;
  return std::max(kPromptRows, options.speculation.max_tokens * options.speculation.max_batch);
}

scheduler::SchedulerOptions SchedulerOptionsOf(const EngineOptions& options, const model::DecoderSpec& spec) {
  return {.max_sequences = options.max_sequences,
          .prefill_tokens = options.prefill_tokens,
          .max_result_rows = options.max_sequences + kPromptRows,
          .draft_tokens = DraftTokens(options, spec)};
}

std::vector<int32_t> Sorted(std::vector<int32_t> tokens) {
  std::sort(tokens.begin(), tokens.end());
  return tokens;
}

// The longest sequence that the whole pool can hold.
int64_t PoolTokens(cache::KvCache& cache, int64_t context_tokens) {
  int64_t tokens = 0, beyond = context_tokens + 1;
  while (beyond - tokens > 1) {
    const int64_t middle = tokens + (beyond - tokens) / 2;
    (cache.BlocksFor(middle) <= cache.AvailableBlocks() ? tokens : beyond) = middle;
  }
  return tokens;
}

}  // namespace

std::optional<double> RetryAfterSeconds(const absl::Status& status) {
  const auto payload = status.GetPayload(kRetryAfterPayload);
  if (!payload) return std::nullopt;
  return std::stod(std::string(*payload));
}

void SizeDevice(const EngineOptions& options, const model::DecoderSpec& spec, device::DeviceOptions& device) {
  device.max_batch_tokens = options.max_sequences + options.prefill_tokens + DraftTokens(options, spec);
  device.max_result_rows = options.max_sequences + kPromptRows + DraftTokens(options, spec);
  device.cache.max_sequences = options.max_sequences + static_cast<int64_t>(Embedder::kMostSequences);
  if (!spec.encoder) return;
  // An encoder sees a text whole, and pooling takes all its rows.
  device.max_batch_tokens = std::max(device.max_batch_tokens, device.context_tokens);
  device.max_result_rows = device.max_batch_tokens;
}

void SizeDraftDevice(const EngineOptions& options, device::DeviceOptions& device) {
  device.max_batch_tokens = std::max(options.prefill_tokens, options.speculation.max_batch);
  device.max_result_rows = options.speculation.max_batch;
  device.cache.max_sequences = options.max_sequences + options.speculation.max_batch;
  device.cache.prefix_reuse = false;
}

absl::StatusOr<std::unique_ptr<Engine>> Engine::Create(std::unique_ptr<device::Device> device, Vocabulary vocabulary,
                                                       const EngineOptions& options, const Clock& clock,
                                                       std::unique_ptr<device::Device> draft) {
  const model::DecoderSpec& spec = device->model().spec();
  if (options.guessing != Guessing::kOff && (model::HasRecurrentState(spec) || spec.encoder)) {
    return InvalidArgument("speculation.kind: {} {}, expected off", spec.architecture,
                           spec.encoder ? "generates nothing" : "has a recurrent state, which takes no guesses back");
  }
  const std::string& isa = device->options().isa;
  const kernels::Kernels* kernels = kernels::SelectKernels(isa.empty() ? nullptr : isa.c_str());
  if (kernels == nullptr) return InvalidArgument("isa: {} is not a kernel variant that this CPU runs", isa);
  const int64_t context = device->options().context_tokens;
  const RequestLimits limits{.vocabulary_size = vocabulary.size,
                             .end_of_generation = Sorted(vocabulary.end_of_generation),
                             .context_tokens = context,
                             .pool_tokens = PoolTokens(device->cache(), context)};
  if (limits.pool_tokens < std::min<int64_t>(context, kernels::kPageTokens)) {
    return InvalidArgument("kv_cache.bytes: {} bytes hold {} tokens, expected at least {}",
                           device->options().cache.bytes, limits.pool_tokens, kernels::kPageTokens);
  }
  vocabulary.end_of_generation = limits.end_of_generation;
  return std::unique_ptr<Engine>(
      new Engine(std::move(device), std::move(vocabulary), options, limits, *kernels, clock, std::move(draft)));
}

Engine::Engine(std::unique_ptr<device::Device> device, Vocabulary vocabulary, const EngineOptions& options,
               const RequestLimits& limits, const kernels::Kernels& kernels, const Clock& clock,
               std::unique_ptr<device::Device> draft)
    : options_(options),
      limits_(limits),
      clock_(clock),
      device_(std::move(device)),
      vocabulary_(std::move(vocabulary)),
      runner_(*device_),
      draft_device_(std::move(draft)),
      draft_runner_(draft_device_ == nullptr ? nullptr : std::make_unique<DeviceRunner>(*draft_device_)),
      core_({.scheduler = SchedulerOptionsOf(options, device_->model().spec()),
             .limits = limits,
             .prefix_reuse = device_->options().cache.prefix_reuse,
             .speculation = options.speculation,
             .release_others = [this] { return embedder_.ReleaseAll(); }},
            runner_, device_->cache(), vocabulary_, kernels, clock, MakeDrafter(kernels)),
      embedder_(*device_) {
  Publish();
  thread_ = std::thread([this] { Run(); });
}

std::unique_ptr<Drafter> Engine::MakeDrafter(const kernels::Kernels& kernels) {
  if (options_.guessing == Guessing::kOff) return nullptr;
  if (options_.guessing == Guessing::kNgram) return std::make_unique<NgramDrafter>();
  return std::make_unique<ModelDrafter>(
      *draft_runner_, draft_device_->cache(), kernels,
      ModelDrafter::Options{.vocabulary_size = draft_device_->model().vocabulary_size(),
                            .context_tokens = draft_device_->options().context_tokens,
                            .pass_tokens = draft_device_->options().max_batch_tokens});
}

Engine::~Engine() { Stop(); }

void Engine::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    draining_ = stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

absl::StatusOr<RequestId> Engine::Submit(GenerationRequest request, std::shared_ptr<EventQueue> queue) {
  absl::Status valid = Validate(request, limits_);
  if (valid.ok()) valid = PrepareSampling(request);
  const MonotonicTime now = clock_.Now();
  absl::MutexLock lock(&mutex_);
  if (!valid.ok()) {
    if (valid.code() == absl::StatusCode::kOutOfRange) ++rejections_["too_long"];
    return valid;
  }
  RETURN_IF_ERROR(Admit(request, now));
  const RequestId id = ++last_id_;
  inbox_.arrivals.push_back({.id = id, .request = std::move(request), .queue = std::move(queue), .arrival = now});
  ++requests_;
  return id;
}

// Before the request meets the engine's thread: this takes milliseconds for a large vocabulary, and longer once.
absl::Status Engine::PrepareSampling(GenerationRequest& request) {
  if (sampling::TextRules::NeededBy(request.sampling)) {
    absl::call_once(texts_once_, [this] {
      texts_ = std::make_shared<const sampling::TokenTexts>(vocabulary_.size, vocabulary_.token_bytes);
    });
    request.text_rules = sampling::TextRules(request.sampling, texts_);
  }
  return CheckBans(request, limits_);
}

absl::Status Engine::Admit(const GenerationRequest& request, MonotonicTime now) {
  if (draining_) {
    ++rejections_["draining"];
    return Unavailable("the model is draining");
  }
  scheduler::Load load = load_;
  for (const Arrival& arrival : inbox_.arrivals) {
    ++load.waiting_requests;
    load.waiting_sequences += arrival.request.choices;
    load.prefill_tokens += static_cast<int64_t>(arrival.request.prompt.size());
  }
  scheduler::QueueLimits limits = options_.queue;
  limits.max_sequences = options_.max_sequences;
  const std::optional<scheduler::Rejection> rejection =
      scheduler::CheckAdmission(limits, load,
                                {.tokens = static_cast<int64_t>(request.prompt.size()),
                                 .sequences = request.choices,
                                 .now = now,
                                 .deadline = request.deadline},
                                rates_);
  if (!rejection) return absl::OkStatus();
  ++rejections_[ReasonName(rejection->reason)];
  return WithRetryAfter(ResourceExhausted("{}", rejection->message), rejection->expected_wait_seconds);
}

absl::Status Engine::Embed(EmbeddingRequest request) {
  RETURN_IF_ERROR(Validate(request, limits_.vocabulary_size, std::min(limits_.context_tokens, limits_.pool_tokens)));
  absl::MutexLock lock(&mutex_);
  if (draining_) {
    ++rejections_["draining"];
    return Unavailable("the model is draining");
  }
  inbox_.embeddings.push_back(std::move(request));
  ++requests_;
  return absl::OkStatus();
}

void Engine::Cancel(RequestId id) {
  absl::MutexLock lock(&mutex_);
  inbox_.cancelled.push_back(id);
}

size_t Engine::Drain(MonotonicTime deadline) {
  absl::MutexLock lock(&mutex_);
  draining_ = true;
  const auto left = std::max(deadline - clock_.Now(), MonotonicTime::duration::zero());
  const auto ended = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return requests_ == 0 || stopping_; };
  mutex_.AwaitWithTimeout(absl::Condition(&ended), absl::FromChrono(left));
  return requests_;
}

bool Engine::draining() const {
  absl::MutexLock lock(&mutex_);
  return draining_;
}

Statistics Engine::Stats() const {
  absl::MutexLock lock(&mutex_);
  Statistics statistics = statistics_;
  statistics.rejections = rejections_;
  statistics.requests_waiting += static_cast<uint32_t>(inbox_.arrivals.size());
  return statistics;
}

bool Engine::HasWork() const { return stopping_ || !inbox_.empty(); }

void Engine::Run() {
  bool stepped = true;
  while (true) {
    Inbox inbox;
    {
      absl::MutexLock lock(&mutex_);
      if (core_.idle() && embedder_.idle()) {
        mutex_.Await(absl::Condition(this, &Engine::HasWork));
      } else if (!stepped) {
        mutex_.AwaitWithTimeout(absl::Condition(this, &Engine::HasWork), kNothingPlanned);
      }
      if (stopping_) break;
      std::swap(inbox, inbox_);
    }
    Take(std::move(inbox));
    stepped = Step();
    Publish();
  }
  const absl::Status end = Unavailable("the model is shutting down");
  for (RequestId id : core_.RequestIds()) core_.Cancel(id, end);
  embedder_.CancelAll(end);
  absl::MutexLock lock(&mutex_);
  for (const Arrival& arrival : inbox_.arrivals) arrival.queue->Close(end);
  for (const EmbeddingRequest& request : inbox_.embeddings) request.done(end);
}

void Engine::Take(Inbox inbox) {
  for (Arrival& arrival : inbox.arrivals) {
    core_.Submit(arrival.id, std::move(arrival.request), std::move(arrival.queue), arrival.arrival);
  }
  for (RequestId id : inbox.cancelled) core_.Cancel(id, Cancelled("the request was cancelled"));
  for (EmbeddingRequest& request : inbox.embeddings) embedder_.Submit(std::move(request));
}

// Generation and embedding take turns.
bool Engine::Step() {
  const bool generated = core_.Step();
  const bool embedded = embedder_.Step(clock_.Now());
  return generated || embedded;
}

void Engine::Publish() {
  Statistics statistics = core_.statistics();
  const scheduler::Load load = core_.load();
  absl::MutexLock lock(&mutex_);
  requests_ = core_.requests() + embedder_.requests() + inbox_.arrivals.size() + inbox_.embeddings.size();
  statistics_ = std::move(statistics);
  load_ = load;
  rates_ = core_.rates();
}

std::string KernelVariant(const std::string& isa) {
  const kernels::Kernels* const kernels = kernels::SelectKernels(isa.empty() ? nullptr : isa.c_str());
  return kernels == nullptr ? "" : kernels->name;
}

}  // namespace inferd::engine
