#include "daemon/rollout.h"

#include "config/base/status.h"

namespace inferd::daemon {
namespace {

// Time for the gateway to get the new table before a worker refuses new requests.
constexpr Milliseconds kRouteGrace{200};

}  // namespace

Rollout::Rollout(Fleet& fleet, RolloutRequest request, std::function<void(const absl::Status&)> done)
    : fleet_(fleet), request_(std::move(request)), done_(std::move(done)) {}

void Rollout::Begin() {
  const Haste haste = fleet_.AnyReady() ? Haste::kQuietly : Haste::kFull;
  for (const StartVersion& start : request_.starts) {
    Model* model = fleet_.Find(start.options.name);
    if (model == nullptr) model = &fleet_.AddModel(start.options);
    ModelVersion& version = fleet_.AddVersion(*model, start.options, start.file);
    started_.push_back({start.options.name, version.number});
    version.unloaded = start.unloaded;
    if (!start.unloaded) fleet_.Start(version, haste);
  }
  Check();
}

ModelVersion* Rollout::Find(const Started& started) const {
  Model* const model = fleet_.Find(started.model);
  return model == nullptr ? nullptr : model->Find(started.number);
}

absl::Status Rollout::Failure(size_t index) const {
  const ModelVersion* const version = Find(started_[index]);
  const std::string& name = started_[index].model;
  if (version == nullptr) return Cancelled("{}: ended while it was loading", name);
  if (version->unloaded) return absl::OkStatus();
  const WorkerState state = version->process->state();
  if (state == WorkerState::kFailed || state == WorkerState::kBackoff || state == WorkerState::kStopped) {
    return FailedPrecondition("{}: {}", name, version->process->last_error());
  }
  if (state != WorkerState::kReady || request_.starts[index].allow_tokenizer_change) return absl::OkStatus();
  for (const auto& other : version->model->versions) {
    const std::string& theirs = other->process->report().tokenizer_fingerprint;
    const std::string& ours = version->process->report().tokenizer_fingerprint;
    if (other->routed && other->ready() && theirs != ours) {
      return FailedPrecondition("{}: the tokenizer differs from the running version's ({}, was {})", name, ours,
                                theirs);
    }
  }
  return absl::OkStatus();
}

void Rollout::Check() {
  if (finished_) return;
  bool all_ready = true;
  for (size_t i = 0; i < started_.size(); ++i) {
    if (const absl::Status failure = Failure(i); !failure.ok()) return Abort(failure);
    const ModelVersion* const version = Find(started_[i]);
    all_ready = all_ready && (version->ready() || version->unloaded);
  }
  if (all_ready) Commit();
}

void Rollout::Commit() {
  finished_ = true;
  std::vector<ModelVersion*> retired;
  fleet_.Atomically([&] {
    for (size_t i = 0; i < started_.size(); ++i) {
      const StartVersion& start = request_.starts[i];
      ModelVersion& version = *Find(started_[i]);
      if (!start.beside) {
        for (const auto& other : version.model->versions) {
          if (other.get() != &version && !other->retired) retired.push_back(other.get());
        }
        version.model->drained = false;
        version.model->options = start.options;
      }
      fleet_.Route(version, start.beside ? 0 : 100);
    }
    for (const config::ModelOptions& options : request_.renames) fleet_.AddModel(options);
    for (const std::string& name : request_.removes) {
      const Model* const model = fleet_.Find(name);
      if (model == nullptr) continue;
      for (const auto& version : model->versions) retired.push_back(version.get());
    }
    for (ModelVersion* version : retired) fleet_.Retire(*version, request_.drain, kRouteGrace);
  });
  done_(absl::OkStatus());
}

void Rollout::Abort(const absl::Status& reason) {
  if (finished_) return;
  finished_ = true;
  for (const Started& started : started_) {
    ModelVersion* const version = Find(started);
    if (version != nullptr) fleet_.Retire(*version, Milliseconds(0), Milliseconds(0));
  }
  done_(reason);
}

}  // namespace inferd::daemon
