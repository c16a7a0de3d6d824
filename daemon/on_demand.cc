#include "daemon/on_demand.h"

#include <algorithm>
#include <vector>

#include "config/base/log.h"
#include "config/base/status.h"

namespace inferd::daemon {
namespace {

constexpr Milliseconds kTick{500};
// Time for the gateway to learn that a model is unloaded before its worker refuses new requests.
constexpr Milliseconds kRouteGrace{200};
// A wish that is not repeated for so long has nobody waiting for it.
constexpr Milliseconds kWishLasts{15'000};
// How long a wish waits for others to become idle before one of them has to finish its requests.
constexpr Milliseconds kPatience{5'000};

uint64_t PlannedBytes(const ModelVersion& version) {
  return PlanMemory(version.options, version.file, /*available_bytes=*/0).needed_bytes;
}

bool HasMemory(const ModelVersion& version) { return version.process->pid() > 0; }

bool IsBusy(const ModelVersion& version) { return version.ready() && version.process->report().requests > 0; }

std::string NameOf(const ModelVersion& version) {
  return fmt::format("{}@{}", version.model->options.name, version.number);
}

}  // namespace

OnDemand::OnDemand(EventLoop& loop, Fleet& fleet, const config::SupervisorOptions& options,
                   std::function<uint64_t()> available_memory)
    : loop_(loop), fleet_(fleet), options_(options), available_memory_(std::move(available_memory)) {}

void OnDemand::ForEach(const std::function<void(ModelVersion&)>& visit) const {
  for (const auto& [name, model] : fleet_.models()) {
    for (const auto& version : model->versions) visit(*version);
  }
}

uint64_t OnDemand::planned_bytes() const {
  uint64_t sum = 0;
  ForEach([&](const ModelVersion& version) { sum += HasMemory(version) ? PlannedBytes(version) : 0; });
  return sum;
}

void OnDemand::StartAll() {
  std::vector<ModelVersion*> versions;
  ForEach([&](ModelVersion& version) { versions.push_back(&version); });
  std::stable_partition(versions.begin(), versions.end(),
                        [](const auto* version) { return version->model->options.pinned; });
  uint64_t planned = 0;
  for (ModelVersion* version : versions) {
    version->unloaded = !version->model->options.preload;
    if (version->unloaded) continue;
    const uint64_t bytes = PlannedBytes(*version);
    version->unloaded = options_.memory_budget > 0 && planned + bytes > options_.memory_budget;
    if (version->unloaded) {
      LogWarning(
          "not loaded at the start, memory_budget is spent",
          {{"model", version->model->options.name}, {"bytes", bytes}, {"memory_budget", options_.memory_budget}});
      continue;
    }
    planned += bytes;
    fleet_.Start(*version);
  }
  Tick();
}

absl::Status OnDemand::Want(std::string_view name) {
  const Model* const model = fleet_.Resolve(name);
  if (model == nullptr) return NotFound("no model \"{}\" is running", name);
  for (const auto& version : model->versions) {
    if (!version->unloaded || !version->routed || version->weight == 0) continue;
    uint64_t pinned = 0;
    ForEach([&](const ModelVersion& other) {
      if (other.model->options.pinned && HasMemory(other)) pinned += PlannedBytes(other);
    });
    const uint64_t bytes = PlannedBytes(*version);
    if (options_.memory_budget > 0 && pinned + bytes > options_.memory_budget) {
      return ResourceExhausted("{} needs {} MiB, pinned models have {} MiB of memory_budget, {} MiB",
                               model->options.name, bytes >> 20, pinned >> 20, options_.memory_budget >> 20);
    }
    const MonotonicTime now = loop_.clock().Now();
    if (!version->wanted_since) version->wanted_since = now;
    version->wanted_at = now;
  }
  Check();
  return absl::OkStatus();
}

void OnDemand::Tick() {
  if (stopped_) return;
  loop_.RunAfter(kTick, [this] { Tick(); });
  ForEach([this](ModelVersion& version) { NoteUse(version); });
  UnloadIdle();
  // What an operator loaded may have taken more than there is.
  const uint64_t budget = options_.memory_budget;
  if (budget > 0 && planned_bytes() > budget) MakeRoom(nullptr, "memory_budget is exceeded", /*busy_too=*/false);
  Check();
}

void OnDemand::NoteUse(ModelVersion& version) const {
  if (!version.ready()) {
    // Its time begins when it is ready.
    if (!version.unloaded) version.used_at = loop_.clock().Now();
    return;
  }
  const WorkerReport& report = version.process->report();
  if (report.requests > 0 || report.progress != version.progress_seen) version.used_at = loop_.clock().Now();
  version.progress_seen = report.progress;
}

void OnDemand::UnloadIdle() {
  const MonotonicTime now = loop_.clock().Now();
  ForEach([&](ModelVersion& version) {
    const Milliseconds limit = version.model->options.idle_unload;
    if (!version.routed || version.unloaded || !version.ready() || version.model->options.pinned) return;
    if (limit > Milliseconds(0) && now - version.used_at >= limit) Unload(version, "idle");
  });
}

void OnDemand::Unload(ModelVersion& version, std::string_view why) {
  LogInfo("unloading", {{"model", version.model->options.name}, {"version", version.number}, {"reason", why}});
  fleet_.Unload(version, options_.drain, kRouteGrace);
}

bool OnDemand::Fits(const ModelVersion& version) const {
  const uint64_t bytes = PlannedBytes(version);
  const uint64_t budget = options_.memory_budget;
  return (budget == 0 || planned_bytes() + bytes <= budget) && bytes <= available_memory_();
}

bool OnDemand::MakeRoom(const Model* spared, std::string_view why, bool busy_too) {
  ModelVersion* oldest = nullptr;
  bool going = false;
  ForEach([&](ModelVersion& version) {
    going = going || (HasMemory(version) && (version.unloaded || version.retired));
    const bool serves = version.routed || version.model->drained;
    const bool may = serves && !version.retired && version.ready() && !version.unloaded &&
                     !version.model->options.pinned && version.model != spared && (busy_too || !IsBusy(version));
    // Of a drained model first: no request can come for it.
    const auto rank = [](const ModelVersion& of) { return std::pair(of.routed, of.used_at); };
    if (may && (oldest == nullptr || rank(version) < rank(*oldest))) oldest = &version;
  });
  // One after another: the end of one may be enough.
  if (going) return true;
  if (oldest == nullptr) return false;
  Unload(*oldest, why);
  return true;
}

void OnDemand::LoadWanted() {
  const MonotonicTime now = loop_.clock().Now();
  std::vector<ModelVersion*> wanted;
  ForEach([&](ModelVersion& version) {
    if (!version.wanted_since) return;
    if (!version.unloaded || now - version.wanted_at > kWishLasts) {
      version.wanted_since.reset();
    } else {
      wanted.push_back(&version);
    }
  });
  std::sort(wanted.begin(), wanted.end(),
            [](const auto* a, const auto* b) { return *a->wanted_since < *b->wanted_since; });
  for (ModelVersion* version : wanted) {
    if (HasMemory(*version) || Fits(*version)) {
      // A process that is still there stays, or gives its memory back first.
      version->wanted_since.reset();
      fleet_.Start(*version);
      continue;
    }
    // The first of the line goes first: what comes free is for it.
    const bool busy_too = now - *version->wanted_since > kPatience;
    if (MakeRoom(version->model, "room for " + NameOf(*version), busy_too)) return;
  }
}

void OnDemand::Check() {
  if (stopped_ || std::exchange(checking_, true)) return;
  LoadWanted();
  checking_ = false;
}

}  // namespace inferd::daemon
