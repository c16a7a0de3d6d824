#include "daemon/fleet.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "config/base/log.h"
#include "config/base/status.h"
#include "inferd/v1/admin.pb.h"

namespace inferd::daemon {
namespace {

template <typename Unit>
int64_t SinceEpoch(WallTime time) {
  return std::chrono::duration_cast<Unit>(time.time_since_epoch()).count();
}

bool HasAlias(const config::ModelOptions& options, std::string_view name) {
  return std::find(options.aliases.begin(), options.aliases.end(), name) != options.aliases.end();
}

// As the routes and the status name it.
std::string StateOf(const ModelVersion& version) {
  if (version.start_when_stopped) return std::string(NameOf(WorkerState::kStarting));
  return version.unloaded ? "UNLOADED" : std::string(NameOf(version.process->state()));
}

bool IsOnDemand(const Model& model) {
  const auto unloaded = [](const auto& version) { return version->unloaded; };
  return !model.options.preload || model.options.idle_unload > Milliseconds(0) ||
         std::any_of(model.versions.begin(), model.versions.end(), unloaded);
}

}  // namespace

ModelVersion* Model::Current() const {
  for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
    if ((*version)->routed) return version->get();
  }
  return versions.empty() ? nullptr : versions.back().get();
}

ModelVersion* Model::Find(uint64_t number) const {
  for (const auto& version : versions) {
    if (version->number == number) return version.get();
  }
  return nullptr;
}

Fleet::Fleet(EventLoop& loop, Spawner& spawner, MakePlan make_plan, std::function<void()> on_change)
    : loop_(loop), spawner_(spawner), make_plan_(std::move(make_plan)), on_change_(std::move(on_change)) {}

Model& Fleet::AddModel(const config::ModelOptions& options) {
  auto& model = models_[options.name];
  if (model == nullptr) {
    model = std::make_unique<Model>();
    model->next_number = std::max<uint64_t>(1, next_numbers_[options.name]);
  }
  model->options = options;
  return *model;
}

Model* Fleet::Find(std::string_view name) const {
  const auto model = models_.find(std::string(name));
  return model == models_.end() ? nullptr : model->second.get();
}

Model* Fleet::Resolve(std::string_view name) const {
  if (Model* const model = Find(name)) return model;
  for (const auto& [key, model] : models_) {
    if (HasAlias(model->options, name)) return model.get();
  }
  return nullptr;
}

ModelVersion& Fleet::AddVersion(Model& model, const config::ModelOptions& options, const FileIdentity& file) {
  auto version = std::make_unique<ModelVersion>(
      ModelVersion{.model = &model, .number = model.next_number++, .options = options, .file = file});
  next_numbers_[model.options.name] = model.next_number;
  ModelVersion& added = *version;
  ProcessPlan plan = make_plan_(options, added.number);
  plan.spec.mapped_bytes = file.all_bytes();
  plan.verify = [this, &added](const WorkerReport& report) { return Verify(added, report); };
  added.process = std::make_unique<ManagedProcess>(
      loop_, spawner_, std::move(plan), [this, &model, number = added.number] { OnProcessChange(&model, number); });
  model.versions.push_back(std::move(version));
  return added;
}

absl::Status Fleet::Verify(ModelVersion& version, const WorkerReport& report) {
  const std::string& name = version.model->options.name;
  if (report.model != name || report.version != version.number) {
    return Internal("the worker answers as {}@{}, expected {}@{}", report.model, report.version, name, version.number);
  }
  if (report.fingerprint.empty()) return Internal("the worker has no fingerprint");
  if (!version.fingerprint.empty() && report.fingerprint != version.fingerprint) {
    return FailedPrecondition(
        "the file changed while version {} was in use (fingerprint {}, was {}): reload to serve it", version.number,
        report.fingerprint, version.fingerprint);
  }
  version.fingerprint = report.fingerprint;
  version.updated_at = loop_.clock().WallNow();
  return absl::OkStatus();
}

void Fleet::Route(ModelVersion& version, uint32_t weight) {
  version.routed = true;
  version.weight = weight;
  Changed();
}

void Fleet::Start(ModelVersion& version, Haste haste) {
  version.unloaded = false;
  version.used_at = loop_.clock().Now();
  version.progress_seen = 0;
  version.start_when_stopped = version.process->state() == WorkerState::kDraining;
  if (!version.start_when_stopped) version.process->Start(haste);
  Changed();
}

void Fleet::Unload(ModelVersion& version, Milliseconds drain, Milliseconds grace) {
  version.unloaded = true;
  Changed();
  StopLater(version, drain, grace);
}

void Fleet::Retire(ModelVersion& version, Milliseconds drain, Milliseconds grace) {
  version.routed = false;
  version.retired = true;
  version.unloaded = version.start_when_stopped = false;
  Changed();
  const std::string name = version.model->options.name;
  if (version.process->state() == WorkerState::kStopped) return Forget(name, version.number);
  StopLater(version, drain, grace);
}

void Fleet::StopLater(const ModelVersion& version, Milliseconds drain, Milliseconds grace) {
  loop_.RunAfter(grace, [this, name = version.model->options.name, number = version.number, drain] {
    const auto model = models_.find(name);
    ModelVersion* const found = model == models_.end() ? nullptr : model->second->Find(number);
    // It may be wanted again by now.
    if (found != nullptr && (found->unloaded || found->retired)) found->process->Stop(drain);
  });
}

void Fleet::OnProcessChange(Model* model, uint64_t number) {
  const ModelVersion* const version = model->Find(number);
  if (version == nullptr) return;
  // Not at once: the process object is calling us.
  if (version->process->state() == WorkerState::kStopped) {
    loop_.Post([this, name = model->options.name, number] { OnStopped(name, number); });
  }
  Changed();
}

void Fleet::OnStopped(const std::string& name, uint64_t number) {
  Model* const model = Find(name);
  ModelVersion* const version = model == nullptr ? nullptr : model->Find(number);
  if (version == nullptr) return;
  if (version->retired) return Forget(name, number);
  if (std::exchange(version->start_when_stopped, false)) version->process->Start();
}

void Fleet::Forget(const std::string& name, uint64_t number) {
  const auto model = models_.find(name);
  if (model == models_.end()) return;
  std::erase_if(model->second->versions, [&](const auto& version) {
    const bool gone =
        version->number == number && version->retired && version->process->state() == WorkerState::kStopped;
    // Its number is never used again.
    if (gone) unlink(version->process->socket_path().c_str());
    return gone;
  });
  if (model->second->versions.empty()) models_.erase(model);
  Changed();
}

void Fleet::Unroute(ModelVersion& version) {
  version.routed = false;
  Changed();
}

void Fleet::Atomically(const std::function<void()>& changes) {
  holding_changes_ = true;
  changes();
  holding_changes_ = false;
  Changed();
}

void Fleet::Changed() {
  if (!holding_changes_) on_change_();
}

bool Fleet::Any(const std::function<bool(const ManagedProcess&)>& holds) const {
  for (const auto& [name, model] : models_) {
    for (const auto& version : model->versions) {
      if (version->process != nullptr && holds(*version->process)) return true;
    }
  }
  return false;
}

bool Fleet::Has(pid_t pid) const {
  return pid > 0 && Any([pid](const ManagedProcess& process) { return process.pid() == pid; });
}

bool Fleet::HasUser(uint32_t user) const {
  return Any([user](const ManagedProcess& process) { return process.user() == user; });
}

bool Fleet::OnExit(pid_t pid, int wait_status) {
  for (const auto& [name, model] : models_) {
    for (const auto& version : model->versions) {
      if (version->process->pid() != pid) continue;
      version->process->OnExit(wait_status);
      return true;
    }
  }
  return false;
}

void Fleet::SetOptions(const config::SupervisorOptions& options) {
  for (const auto& [name, model] : models_) {
    for (const auto& version : model->versions) version->process->SetOptions(options);
  }
}

void Fleet::StopAll(Milliseconds drain) {
  for (const auto& [name, model] : models_) {
    for (const auto& version : model->versions) {
      version->start_when_stopped = false;
      version->process->Stop(drain);
    }
  }
}

void Fleet::KillAll() {
  for (const auto& [name, model] : models_) {
    for (const auto& version : model->versions) {
      version->start_when_stopped = false;
      version->process->Kill();
    }
  }
}

bool Fleet::AnyProcess() const {
  for (const auto& [name, model] : models_) {
    for (const auto& version : model->versions) {
      if (version->process->pid() > 0) return true;
    }
  }
  return false;
}

bool Fleet::AnyReady() const {
  for (const auto& [name, model] : models_) {
    for (const auto& version : model->versions) {
      if (version->ready()) return true;
    }
  }
  return false;
}

bool Fleet::Settled() const {
  for (const auto& [name, model] : models_) {
    for (const auto& version : model->versions) {
      if (version->routed && !IsSettled(version->process->state())) return false;
    }
  }
  return true;
}

std::string Fleet::Summary() const {
  size_t ready = 0, routed = 0, unloaded = 0;
  for (const auto& [name, model] : models_) {
    for (const auto& version : model->versions) {
      routed += version->routed;
      unloaded += version->routed && version->unloaded;
      ready += version->routed && !version->unloaded && version->ready();
    }
  }
  return fmt::format("{} of {} model versions ready", ready, routed) +
         (unloaded > 0 ? fmt::format(", {} unloaded", unloaded) : "");
}

v1::RouteSnapshot Fleet::Routes() const {
  v1::RouteSnapshot snapshot;
  for (const auto& [name, model] : models_) {
    v1::Route route;
    route.set_model(name);
    route.mutable_aliases()->Add(model->options.aliases.begin(), model->options.aliases.end());
    route.set_expected(true);
    route.set_on_demand(IsOnDemand(*model));
    for (const auto& version : model->versions) {
      if (!version->routed) continue;
      v1::RouteVersion& out = *route.add_versions();
      v1::WorkerStatus status;
      FillStatus(*version, status);
      out.set_version(version->number);
      out.set_address(status.address());
      out.set_weight(version->weight);
      out.set_state(status.state());
      out.set_fingerprint(version->fingerprint);
      out.set_updated_unix_seconds(SinceEpoch<std::chrono::seconds>(version->updated_at));
      out.set_last_error(status.last_error());
    }
    if (route.versions_size() > 0 || model->drained) *snapshot.add_routes() = std::move(route);
  }
  return snapshot;
}

void Fleet::FillStatus(v1::StatusResponse& status) const {
  for (const auto& [name, model] : models_) {
    for (const auto& version : model->versions) FillStatus(*version, *status.add_workers());
  }
}

void Fleet::FillStatus(const ModelVersion& version, v1::WorkerStatus& status) {
  const ManagedProcess& process = *version.process;
  status.set_model(version.model->options.name);
  status.set_version(version.number);
  status.set_state(StateOf(version));
  status.set_pid(std::max(0, process.pid()));
  status.set_path(version.options.path);
  status.set_file_change(version.file_change);
  status.set_restarts(process.restarts());
  status.set_last_error(process.last_error());
  status.set_last_exit(std::string(NameOf(process.last_exit())));
  for (const auto& [cause, count] : process.exits()) (*status.mutable_exits())[std::string(NameOf(cause))] = count;
  status.set_state_since_unix_milliseconds(SinceEpoch<std::chrono::milliseconds>(process.state_since()));
  status.set_address("unix:" + process.socket_path());
  status.set_fingerprint(version.fingerprint);
  status.set_weight(version.routed ? version.weight : 0);
  status.set_backoff_ms(static_cast<uint64_t>(process.backoff_left().count()));
  const auto& aliases = version.model->options.aliases;
  status.mutable_aliases()->Add(aliases.begin(), aliases.end());
  status.set_load_progress(version.ready() ? 1 : process.report().load_progress);
  status.set_ready_after_ms(static_cast<uint64_t>(process.ready_after().count()));
}

}  // namespace inferd::daemon
