// The engine's thread, and the doors to it.
#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "config/base/status.h"
#include "engine/generation/model_drafter.h"
#include "engine/generation/ngram_drafter.h"
#include "engine/generation/refusal.h"
#include "engine/scheduler/prefill_share.h"

namespace inferd::engine {
namespace {

constexpr int64_t kPromptRows = 8;  // results of prompts beside one row a sequence
constexpr Milliseconds kNothingPlanned{10};

scheduler::QueueLimits LimitsOf(const EngineOptions& options) {
  scheduler::QueueLimits limits = options.queue;
  limits.max_sequences = options.max_sequences;
  limits.prefill_tokens = options.prefill_tokens;
  return limits;
}

// Guesses of one step; without guessing, for the tokens of resumed requests that are computed anew.
int64_t DraftTokens(const EngineOptions& options, const model::DecoderSpec& spec) {
  if (model::HasRecurrentState(spec) || spec.encoder) return 0;
  if (options.guessing == Guessing::kOff) return kPromptRows;
  return std::max(kPromptRows, options.speculation.max_tokens * options.speculation.max_batch);
}

scheduler::SchedulerOptions SchedulerOptionsOf(const EngineOptions& options, const device::Device& device) {
  const model::DecoderSpec& spec = device.model().spec();
  const bool keeps_states = model::HasRecurrentState(spec) && device.options().cache.prefix_reuse;
  return {.max_sequences = options.max_sequences,
          .prefill_tokens = options.prefill_tokens,
          .max_result_rows = options.max_sequences + kPromptRows,
          .draft_tokens = DraftTokens(options, spec),
          .state_page_tokens = keeps_states ? kernels::kPageTokens : 0};
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

void SizeDevice(const EngineOptions& options, const model::DecoderSpec& spec, device::DeviceOptions& device) {
  device.max_batch_tokens = options.max_sequences + options.prefill_tokens + DraftTokens(options, spec);
  device.max_result_rows = options.max_sequences + kPromptRows + DraftTokens(options, spec);
  device.cache.max_sequences = options.max_sequences + static_cast<int64_t>(Embedder::kMostSequences);
  device.cache.step_tokens = device.max_batch_tokens;
  if (!spec.encoder) return;
  // An encoder sees a text whole, so that nothing of it serves another, and pooling takes all its rows.
  device.cache.prefix_reuse = false;
  device.max_batch_tokens = std::max(device.max_batch_tokens, device.context_tokens);
  device.max_result_rows = device.cache.step_tokens = device.max_batch_tokens;
}

void SizeDraftDevice(const EngineOptions& options, device::DeviceOptions& device) {
  device.max_batch_tokens = std::max(options.prefill_tokens, options.speculation.max_batch);
  device.max_result_rows = options.speculation.max_batch;
  device.cache.max_sequences = options.max_sequences + options.speculation.max_batch;
  device.cache.step_tokens = device.max_batch_tokens;
  device.cache.prefix_reuse = false;
}

absl::StatusOr<std::unique_ptr<Engine>> Engine::Create(std::unique_ptr<device::Device> device, Vocabulary vocabulary,
                                                       const EngineOptions& options, const Clock& clock,
                                                       std::unique_ptr<device::Device> draft) {
  const model::DecoderSpec& spec = device->model().spec();
  if (options.guessing != Guessing::kOff && (model::HasRecurrentState(spec) || spec.encoder)) {
    return InvalidField("speculation.kind", "{} {}, expected off", spec.architecture,
                        spec.encoder ? "generates nothing" : "has a recurrent state, which takes no guesses back");
  }
  const kernels::Kernels& kernels = device->host_kernels();
  const int64_t context = device->options().context_tokens;
  const RequestLimits limits{.vocabulary_size = vocabulary.size,
                             .end_of_generation = Sorted(vocabulary.end_of_generation),
                             .context_tokens = context,
                             .pool_tokens = PoolTokens(device->cache(), context)};
  if (limits.pool_tokens < std::min<int64_t>(context, kernels::kPageTokens)) {
    return InvalidField("kv_cache.bytes", "{} bytes hold {} tokens, expected at least {}",
                        device->options().cache.bytes, limits.pool_tokens, kernels::kPageTokens);
  }
  vocabulary.end_of_generation = limits.end_of_generation;
  return std::unique_ptr<Engine>(
      new Engine(std::move(device), std::move(vocabulary), options, limits, kernels, clock, std::move(draft)));
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
      core_({.scheduler = SchedulerOptionsOf(options, *device_),
             .limits = limits,
             .queue = LimitsOf(options),
             .rates = options.rates,
             .prefix_reuse = device_->options().cache.prefix_reuse,
             .speculation = options.speculation,
             .release_others = [this](int priority) { return embedder_.Release(priority, clock_.Now()); }},
            runner_, device_->cache(), vocabulary_, kernels, clock, MakeDrafter(kernels)),
      embedder_(*device_, LimitsOf(options)) {
  for (const char* reason : {"queue_full", "deadline_too_short", "too_long", "draining"}) rejections_[reason] = 0;
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
    SteadyLock lock(&mutex_);
    draining_ = stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

absl::StatusOr<RequestId> Engine::Submit(GenerationRequest request, std::shared_ptr<EventQueue> queue) {
  RETURN_IF_ERROR(Check(request));
  RETURN_IF_ERROR(PrepareSampling(request));
  const scheduler::Arrival arrival = Describe(request, clock_.Now());
  SteadyLock lock(&mutex_);
  RETURN_IF_ERROR(Admit(arrival));
  const RequestId id = ++last_id_;
  inbox_.arrivals.push_back({.id = id, .request = std::move(request), .queue = std::move(queue), .counted = arrival});
  return id;
}

std::shared_ptr<const sampling::TokenTexts> Engine::Texts() {
  absl::call_once(texts_once_, [this] {
    texts_ = std::make_shared<const sampling::TokenTexts>(vocabulary_.size, vocabulary_.token_bytes);
  });
  return texts_;
}

absl::StatusOr<constraint::Constraint> Engine::Constrain(const constraint::ConstraintSource& source) {
  absl::call_once(constraints_once_, [this] {
    constraints_ = std::make_unique<constraint::ConstraintCache>(Texts(), vocabulary_.end_of_generation);
  });
  return constraints_->Get(source);
}

absl::Status Engine::Check(const GenerationRequest& request) { return CountTooLong(Validate(request, limits_)); }

absl::Status Engine::CountTooLong(absl::Status status) {
  if (status.code() != absl::StatusCode::kOutOfRange) return status;
  SteadyLock lock(&mutex_);
  ++rejections_["too_long"];
  return status;
}

// Before the request meets the engine's thread: this takes milliseconds for a large vocabulary, and longer once.
absl::Status Engine::PrepareSampling(GenerationRequest& request) {
  if (sampling::TextRules::NeededBy(request.sampling)) {
    request.text_rules = sampling::TextRules(request.sampling, Texts());
  }
  return CheckBans(request, limits_);
}

absl::Status Engine::Embed(EmbeddingRequest request) {
  RETURN_IF_ERROR(CountTooLong(Validate(request, limits_)));
  const scheduler::Arrival arrival = Describe(request, clock_.Now());
  SteadyLock lock(&mutex_);
  RETURN_IF_ERROR(Admit(arrival));
  inbox_.embeddings.push_back({.request = std::move(request), .counted = arrival});
  return absl::OkStatus();
}

scheduler::Arrival Engine::Describe(const GenerationRequest& request, MonotonicTime now) const {
  int64_t tokens = static_cast<int64_t>(request.prompt.size());
  const cache::KvCache& cache = device_->cache();
  const bool reuses = !request.prompt_logprobs;
  const bool shares = device_->options().cache.prefix_reuse;  // the choices after the first have its full pages
  const int64_t page = cache.BlocksFor(1), first = cache.BlocksFor(tokens) + page;
  if (reuses) tokens -= cache.CountKnown({.tenant_salt = request.cache_salt}, request.prompt);
  int64_t finished = 0;
  for (const ResumedChoice& resumed : request.resumed) {
    tokens += resumed.finished ? 0 : static_cast<int64_t>(resumed.tokens.size());
    finished += resumed.finished ? 1 : 0;
  }
  const int64_t others = std::max<int64_t>(request.choices - finished - 1, 0);
  return {.tokens = tokens,
          .sequences = request.choices - finished,
          .blocks = first + others * (shares ? page + page : first),
          .first_blocks = first,
          .priority = request.priority,
          .resumed = !request.resumed.empty(),
          .now = now,
          .deadline = request.deadline};
}

scheduler::Arrival Engine::Describe(const EmbeddingRequest& request, MonotonicTime now) {
  scheduler::Arrival arrival{
      .sequences = 0, .priority = request.priority, .embeds = true, .now = now, .deadline = request.deadline};
  for (const std::vector<int32_t>& input : request.inputs) arrival.tokens += static_cast<int64_t>(input.size());
  return arrival;
}

absl::Status Engine::Admit(const scheduler::Arrival& arrival) {
  if (draining_) {
    ++rejections_["draining"];
    return Unavailable("the model is draining");
  }
  if (arrival.deadline && *arrival.deadline <= arrival.now) {
    return DeadlineExceeded("the deadline passed before the request came");
  }
  const scheduler::QueueLimits limits = LimitsOf(options_);
  if (const auto rejection = scheduler::CheckAdmission(limits, load_, arrival, rates_)) {
    ++rejections_[ReasonName(rejection->reason)];
    return RefusalStatus(*rejection);
  }
  load_.Add(arrival, limits);
  ++requests_;
  return absl::OkStatus();
}

void Engine::Cancel(RequestId id) {
  SteadyLock lock(&mutex_);
  inbox_.cancelled.push_back(id);
}

size_t Engine::Drain(MonotonicTime deadline) {
  SteadyLock lock(&mutex_);
  draining_ = true;
  const auto ended = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return requests_ == 0 || stopping_; };
  mutex_.AwaitUntil(ended, deadline);
  return requests_;
}

uint64_t Engine::progress() const {
  return device_->progress() + (draft_device_ == nullptr ? 0 : draft_device_->progress()) + core_.rows_taken();
}

bool Engine::draining() const {
  SteadyLock lock(&mutex_);
  return draining_;
}

Statistics Engine::Stats() const {
  SteadyLock lock(&mutex_);
  Statistics statistics = statistics_;
  statistics.progress = progress();
  for (const auto& [reason, count] : rejections_) statistics.rejections[reason] += count;
  statistics.requests_waiting = static_cast<uint32_t>(load_.waiting_requests);
  statistics.requests_running = static_cast<uint32_t>(requests_ - static_cast<size_t>(load_.waiting_requests));
  statistics.sequences_running = static_cast<uint32_t>(load_.running_sequences);
  return statistics;
}

bool Engine::HasWork() const { return stopping_ || !inbox_.empty(); }

void Engine::Run() {
  bool stepped = true;
  while (true) {
    Inbox inbox;
    {
      SteadyLock lock(&mutex_);
      const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return HasWork(); };
      if (core_.idle() && embedder_.idle()) {
        mutex_.Await(has_work);
      } else if (!stepped) {
        mutex_.AwaitUntil(has_work, clock_.Now() + kNothingPlanned);
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
  SteadyLock lock(&mutex_);
  for (const Arrival& arrival : inbox_.arrivals) arrival.queue->Close(end);
  for (const EmbeddingArrival& arrival : inbox_.embeddings) arrival.request.done(end);
}

void Engine::Take(Inbox inbox) {
  for (Arrival& arrival : inbox.arrivals) {
    core_.Submit(arrival.id, std::move(arrival.request), std::move(arrival.queue), arrival.counted.now);
  }
  for (RequestId id : inbox.cancelled) core_.Cancel(id, Cancelled("the request was cancelled"));
  for (EmbeddingArrival& arrival : inbox.embeddings) embedder_.Submit(std::move(arrival.request), arrival.counted.now);
}

// Generation and embedding take turns; beside streams, a pass of embedding takes no longer than a prompt's would.
bool Engine::Step() {
  const bool generated = core_.Step();
  if (embedder_.idle()) return generated;
  const scheduler::Rates& rates = core_.rates();
  const scheduler::Load load = core_.load();
  const int64_t streams = load.decoding_sequences, most = device_->options().max_batch_tokens;
  const MonotonicTime begin = clock_.Now();
  const int64_t tokens = embedder_.Step(
      begin, rates, load, streams == 0 ? most : scheduler::PrefillBudget(options_.prefill_tokens, rates, streams, 1));
  if (tokens > 0) core_.PassDone(tokens, std::chrono::duration<double>(clock_.Now() - begin).count());
  return generated || tokens > 0;
}

// What is in the inbox came during the step.
void Engine::Publish() {
  Statistics statistics = core_.statistics();
  if (draft_device_ != nullptr) statistics.draft_cache = draft_device_->cache().Stats();
  for (const auto& [reason, count] : embedder_.rejections()) statistics.rejections[reason] += count;
  scheduler::Load load = embedder_.LoadBeside(core_.load(), clock_.Now());
  SteadyLock lock(&mutex_);
  requests_ = core_.requests() + embedder_.requests() + inbox_.arrivals.size() + inbox_.embeddings.size();
  statistics_ = std::move(statistics);
  rates_ = core_.rates();
  load_ = std::move(load);
  const scheduler::QueueLimits limits = LimitsOf(options_);
  for (const Arrival& arrival : inbox_.arrivals) load_.Add(arrival.counted, limits);
  for (const EmbeddingArrival& arrival : inbox_.embeddings) load_.Add(arrival.counted, limits);
}

std::string KernelVariant(const std::string& isa) {
  const kernels::Kernels* const kernels = kernels::SelectKernels(isa.empty() ? nullptr : isa.c_str());
  return kernels == nullptr ? "" : kernels->name;
}

}  // namespace inferd::engine
