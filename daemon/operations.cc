#include "daemon/operations.h"

#include <algorithm>

#include "config/base/log.h"
#include "config/base/status.h"
#include "config/options.h"

namespace inferd::daemon {
namespace {

constexpr Milliseconds kIdlePollInterval{50};
constexpr Milliseconds kRouteGrace{200};

absl::Status Busy() { return Unavailable("the daemon is shutting down"); }

// `number` must not be the only one that requests go to while others run that would get none.
absl::Status CheckTrafficLeft(const Model& model, uint64_t number) {
  uint32_t leaving = 0;
  uint32_t staying = 0;
  bool others = false;
  for (const auto& version : model.versions) {
    if (!version->routed) continue;
    (version->number == number ? leaving : staying) += version->weight;
    others = others || version->number != number;
  }
  if (number == 0 || !others || leaving == 0 || staying > 0) return absl::OkStatus();
  return FailedPrecondition("version {} has all requests of model \"{}\": give them to another version before", number,
                            model.options.name);
}

}  // namespace

// ------------------------------------------------------------------------------------------------- one after another

void Operations::Enqueue(Task task, std::function<void(absl::Status)> refuse) {
  if (cancelled_) return refuse(Busy());
  queue_.push_back({std::move(task), std::move(refuse)});
  if (!running_) NextTask();
}

void Operations::NextTask() {
  running_ = !queue_.empty() && !cancelled_;
  if (!running_) return;
  const Waiting next = std::move(queue_.front());
  queue_.pop_front();
  next.task();
}

template <typename Result>
void Operations::Answer(const Done<Result>& done, absl::StatusOr<Result> result) {
  done(std::move(result));
  // Not at once: we may be called by what is about to end.
  context_.loop.Post([this] {
    rollout_.reset();
    condition_ = nullptr;
    NextTask();
  });
}

void Operations::Cancel() {
  cancelled_ = true;
  for (const Waiting& waiting : queue_) waiting.refuse(Busy());
  queue_.clear();
  if (rollout_ != nullptr) rollout_->Abort(Busy());
}

void Operations::OnFleetChange() {
  if (rollout_ != nullptr) rollout_->Check();
  if (condition_ && condition_()) condition_ = nullptr;
}

void Operations::BeginRollout(RolloutRequest request, std::function<void(const absl::Status&)> done) {
  if (cancelled_) return done(Busy());
  rollout_ = std::make_unique<Rollout>(context_.fleet, std::move(request), std::move(done));
  rollout_->Begin();
}

// ------------------------------------------------------------------------------------------------------------ reload

RunningState Operations::Running() const {
  RunningState running{.config = context_.config, .gateway_failed = context_.gateway_failed()};
  for (const auto& [name, model] : context_.fleet.models()) {
    const ModelVersion* const current = model->Current();
    if (current == nullptr || !(current->routed || model->drained)) continue;
    // What the worker runs with, and what is in force around it.
    config::ModelOptions options = current->options;
    options.aliases = model->options.aliases;
    options.preload = model->options.preload;
    options.idle_unload = model->options.idle_unload;
    options.pinned = model->options.pinned;
    options.on_file_change = model->options.on_file_change;
    running.models[name] = {.options = options,
                            .file = current->file,
                            .failed = current->process->state() == WorkerState::kFailed,
                            .unloaded = current->unloaded};
  }
  return running;
}

void Operations::Reload(bool dry_run, Done<std::vector<std::string>> done) {
  Enqueue(
      [this, dry_run, done] {
        background_.Run<absl::StatusOr<IdentifiedConfig>>(
            [file = context_.config_file, started = context_.gateway_started(), program = context_.gateway_program] {
              absl::StatusOr<IdentifiedConfig> next = LoadIdentifiedConfig(file);
              if (next.ok()) next->other_gateway_program = IsAnotherFile(started, program);
              return next;
            },
            [this, dry_run, done](absl::StatusOr<IdentifiedConfig> next) {
              PlanAndReload(std::move(next), dry_run, done);
            });
      },
      done);
}

void Operations::PlanAndReload(absl::StatusOr<IdentifiedConfig> next, bool dry_run,
                               Done<std::vector<std::string>> done) {
  if (!next.ok()) return Answer<std::vector<std::string>>(done, next.status());
  absl::StatusOr<ReloadPlan> plan = PlanReload(Running(), *next);
  if (!plan.ok() || dry_run) {
    if (!plan.ok()) return Answer<std::vector<std::string>>(done, plan.status());
    return Answer<std::vector<std::string>>(done, std::move(plan->changes));
  }
  uint64_t promised = 0;
  for (const StartVersion& start : plan->rollout.starts) {
    if (start.unloaded) continue;
    const MemoryPlan memory = PlanFor(start.options, start.file, promised);
    promised += memory.needed_bytes;
    if (!memory.fits) return Answer<std::vector<std::string>>(done, ResourceExhausted("{}", memory.explanation));
  }
  next->config.listen = context_.config.listen;  // cannot change; with the ports that 0 became
  // The new workers are started with the new configuration, which becomes the one in force if they get ready.
  const config::Config former = std::exchange(context_.config, next->config);
  BeginRollout(plan->rollout, [this, done, former, plan = *plan](const absl::Status& result) {
    if (!result.ok()) {
      context_.config = former;
      return Answer<std::vector<std::string>>(done, result);
    }
    for (const std::string& name : plan.retries) {
      const Model* const model = context_.fleet.Find(name);
      if (model != nullptr && model->Current() != nullptr) model->Current()->process->Start();
    }
    context_.apply_settings(plan, [this, done, former, changes = plan.changes](const absl::Status& applied) {
      if (applied.ok()) return Answer<std::vector<std::string>>(done, changes);
      // What the gateway goes on with.
      context_.config.auth = former.auth;
      context_.config.limits = former.limits;
      context_.config.log = former.log;
      context_.config.supervisor.load_wait = former.supervisor.load_wait;
      Answer<std::vector<std::string>>(done, applied);
    });
  });
}

void Operations::RestartGateway(Done<pid_t> done) {
  Enqueue(
      [this, done] {
        context_.replace_gateway([this, done](const absl::Status& replaced) {
          if (!replaced.ok()) return Answer<pid_t>(done, replaced);
          Answer<pid_t>(done, context_.gateway_pid());
        });
      },
      done);
}

// ------------------------------------------------------------------------------------------------------ swap and load

MemoryPlan Operations::PlanFor(const config::ModelOptions& model, const FileIdentity& file, uint64_t promised) const {
  bool mapped = false;
  for (const auto& [name, other] : context_.fleet.models()) {
    for (const auto& version : other->versions) mapped = mapped || (version->ready() && version->file == file);
  }
  const uint64_t available = context_.available_memory();
  return PlanMemory(model, file, available - std::min(available, promised), mapped);
}

void Operations::StartVersionAndAnswer(StartVersion start, const FileIdentity& file, SwapOptions options,
                                       Done<SwapResult> done) {
  SwapResult result{.plan = PlanFor(start.options, file)};
  Model* const model = context_.fleet.Find(start.options.name);
  if (model != nullptr && model->Current() != nullptr) result.old_version = model->Current()->number;
  if (options.dry_run) return Answer<SwapResult>(done, result);
  if (!result.plan.fits) return Answer<SwapResult>(done, ResourceExhausted("{}", result.plan.explanation));
  RolloutRequest request{.drain = options.drain > Milliseconds(0) ? options.drain : context_.config.supervisor.drain};
  start.file = file;
  request.starts = {std::move(start)};
  BeginRollout(request, [this, done, result](const absl::Status& status) mutable {
    if (!status.ok()) return Answer<SwapResult>(done, status);
    const Rollout::Started& started = rollout_->started().front();
    const ModelVersion* const version = context_.fleet.Find(started.model)->Find(started.number);
    result.new_version = version->number;
    result.fingerprint = version->fingerprint;
    Answer<SwapResult>(done, result);
  });
}

void Operations::Swap(const SwapOptions& options, Done<SwapResult> done) {
  Enqueue(
      [this, options, done] {
        const Model* const model = context_.fleet.Resolve(options.model);
        if (model == nullptr || model->Current() == nullptr) {
          return Answer<SwapResult>(done, NotFound("no model \"{}\" is running", options.model));
        }
        StartVersion start{.options = model->options, .allow_tokenizer_change = options.allow_tokenizer_change};
        start.options.path = options.path.empty() ? model->Current()->options.path : options.path;
        background_.Run<absl::StatusOr<FileIdentity>>([options = start.options] { return IdentifyModel(options); },
                                                      [this, start, options, done](absl::StatusOr<FileIdentity> file) {
                                                        if (!file.ok()) return Answer<SwapResult>(done, file.status());
                                                        StartVersionAndAnswer(start, *file, options, done);
                                                      });
      },
      done);
}

void Operations::Load(const std::string& name, const std::string& path, bool dry_run, Done<SwapResult> done) {
  Enqueue(
      [this, name, path, dry_run, done] {
        Model* const model = context_.fleet.Resolve(name);
        ModelVersion* const current = model == nullptr ? nullptr : model->Current();
        const absl::Status named = config::CheckModelName("model", name);
        if (model == nullptr && !named.ok()) return Answer<SwapResult>(done, named);
        if (current != nullptr && path.empty()) {
          if (current->ready() && current->routed) {
            return Answer<SwapResult>(done, AlreadyExists("model \"{}\" is running", name));
          }
          if (!dry_run) return RestartAndAnswer(*model, done);
        }
        StartVersion start{.beside = current != nullptr};
        const config::ModelOptions* const configured = context_.config.FindModel(name);
        if (model != nullptr)
          start.options = model->options;
        else if (configured != nullptr)
          start.options = *configured;
        else if (path.empty())
          return Answer<SwapResult>(done, NotFound("model \"{}\" is not configured: give its file", name));
        else
          start.options.name = name;
        if (!path.empty()) start.options.path = path;
        background_.Run<absl::StatusOr<FileIdentity>>([options = start.options] { return IdentifyModel(options); },
                                                      [this, start, dry_run, done](absl::StatusOr<FileIdentity> file) {
                                                        if (!file.ok()) return Answer<SwapResult>(done, file.status());
                                                        StartVersionAndAnswer(start, *file, {.dry_run = dry_run}, done);
                                                      });
      },
      done);
}

// A model that failed or was drained: its newest version serves again, the others of a drained one wait for traffic.
void Operations::RestartAndAnswer(Model& model, Done<SwapResult> done) {
  const std::string name = model.options.name;
  ModelVersion& version = *model.Current();
  const uint64_t number = version.number;
  const MemoryPlan plan = PlanFor(version.options, version.file);
  if (version.process->pid() <= 0 && !plan.fits) {
    return Answer<SwapResult>(done, ResourceExhausted("{}", plan.explanation));
  }
  if (std::exchange(model.drained, false)) {
    for (const auto& other : model.versions) {
      if (!other->retired) context_.fleet.Route(*other, 0);
    }
  }
  context_.fleet.Route(version, 100);
  context_.fleet.Start(version);
  condition_ = [this, name, number, plan, done] {
    const Model* const found = context_.fleet.Find(name);
    const ModelVersion* const now = found == nullptr ? nullptr : found->Find(number);
    if (now == nullptr) {
      Answer<SwapResult>(done, Cancelled("model \"{}\" was unloaded", name));
    } else if (now->ready()) {
      Answer<SwapResult>(done, SwapResult{.new_version = number, .fingerprint = now->fingerprint, .plan = plan});
    } else if (now->process->state() == WorkerState::kFailed) {
      Answer<SwapResult>(done, FailedPrecondition("{}: {}", name, now->process->last_error()));
    } else {
      return false;
    }
    return true;
  };
  OnFleetChange();
}

// --------------------------------------------------------------------------------------------------- unload and drain

void Operations::Unload(const std::string& name, uint64_t number, Milliseconds drain, Done<uint32_t> done) {
  Enqueue(
      [this, name, number, drain, done] {
        Model* const model = context_.fleet.Resolve(name);
        if (model == nullptr) return Answer<uint32_t>(done, NotFound("no model \"{}\" is running", name));
        const Milliseconds limit = drain > Milliseconds(0) ? drain : context_.config.supervisor.drain;
        IdleWait wait = NewIdleWait(limit, done);
        for (const auto& version : model->versions) {
          if (number == 0 || version->number == number)
            wait.versions.emplace_back(model->options.name, version->number);
        }
        if (wait.versions.empty())
          return Answer<uint32_t>(done, NotFound("model \"{}\" has no version {}", name, number));
        if (const absl::Status left = CheckTrafficLeft(*model, number); !left.ok()) return Answer<uint32_t>(done, left);
        if (number == 0) model->drained = false;
        context_.fleet.Atomically([&] {
          for (const auto& [key, version] : wait.versions) {
            context_.fleet.Retire(*context_.fleet.Find(key)->Find(version), limit, kRouteGrace);
          }
        });
        WaitForIdle(wait);
      },
      done);
}

void Operations::Drain(const std::string& name, Milliseconds deadline, Done<uint32_t> done) {
  Enqueue(
      [this, name, deadline, done] {
        if (!name.empty() && context_.fleet.Resolve(name) == nullptr) {
          return Answer<uint32_t>(done, NotFound("no model \"{}\" is running", name));
        }
        IdleWait wait = NewIdleWait(deadline > Milliseconds(0) ? deadline : context_.config.supervisor.drain, done);
        context_.fleet.Atomically([&] {
          for (const auto& [key, model] : context_.fleet.models()) {
            if (!name.empty() && model.get() != context_.fleet.Resolve(name)) continue;
            model->drained = true;
            for (const auto& version : model->versions) {
              wait.versions.emplace_back(key, version->number);
              context_.fleet.Unroute(*version);
            }
          }
        });
        WaitForIdle(wait);
      },
      done);
}

Operations::IdleWait Operations::NewIdleWait(Milliseconds limit, const Done<uint32_t>& done) {
  const MonotonicTime now = context_.loop.clock().Now();
  return {.since = now + kRouteGrace, .deadline = now + limit, .done = [this, done](uint32_t unfinished) {
            Answer<uint32_t>(done, unfinished);
          }};
}

// Asks again and again until none of the versions has a request or a process.
void Operations::WaitForIdle(const IdleWait& wait) {
  uint32_t unfinished = 0;
  bool idle = true;
  for (const auto& [name, number] : wait.versions) {
    const Model* const model = context_.fleet.Find(name);
    const ModelVersion* const version = model == nullptr ? nullptr : model->Find(number);
    if (version == nullptr || !version->process->Ask()) continue;
    unfinished += version->process->report().requests;
    idle = idle && version->process->report().requests == 0 && version->process->reported_at() > wait.since;
  }
  if (idle || context_.loop.clock().Now() >= wait.deadline || cancelled_) return wait.done(unfinished);
  context_.loop.RunAfter(kIdlePollInterval, [this, wait] { WaitForIdle(wait); });
}

absl::Status Operations::SetTraffic(const std::string& name, const std::map<uint64_t, uint32_t>& weights) {
  const Model* const model = context_.fleet.Resolve(name);
  if (model == nullptr) return NotFound("no model \"{}\" is running", name);
  uint64_t sum = 0;
  for (const auto& [number, weight] : weights) {
    const ModelVersion* const version = model->Find(number);
    if (version == nullptr || !version->routed) return NotFound("model \"{}\" has no version {}", name, number);
    if (weight > 100) return InvalidArgument("version {}: weight {} is not in 0..100", number, weight);
    if (weight > 0 && !version->ready()) {
      return FailedPrecondition("version {} is {}", number, NameOf(version->process->state()));
    }
    sum += weight;
  }
  if (sum == 0) return InvalidArgument("the weights sum to 0: expected at least one above");
  context_.fleet.Atomically([&] {
    for (const auto& version : model->versions) {
      const auto weight = weights.find(version->number);
      if (version->routed) context_.fleet.Route(*version, weight == weights.end() ? 0 : weight->second);
    }
  });
  return absl::OkStatus();
}

}  // namespace inferd::daemon
