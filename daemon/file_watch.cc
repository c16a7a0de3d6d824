#include "daemon/file_watch.h"

#include "config/base/log.h"
#include "config/base/status.h"

namespace inferd::daemon {
namespace {

constexpr Milliseconds kInterval{2000};

bool SameFile(const FileIdentity& a, const FileIdentity& b) { return a.device == b.device && a.inode == b.inode; }

std::string_view ChangeOf(const FileIdentity& loaded, const absl::StatusOr<FileIdentity>& now) {
  if (!now.ok()) return "missing";
  if (*now == loaded) return "";
  return SameFile(*now, loaded) ? "overwritten" : "replaced";
}

}  // namespace

FileVerdict JudgeFile(const FileIdentity& loaded, bool failed, const absl::StatusOr<FileIdentity>& now,
                      SeenFile& seen) {
  const absl::StatusOr<FileIdentity> before = std::exchange(seen.last, now);
  if (!now.ok()) return std::exchange(seen.missing, true) ? FileVerdict::kNothing : FileVerdict::kMissing;
  if (*now == loaded && !(failed && seen.missing)) {
    seen.missing = false;
    seen.acted_on = absl::UnknownError("none");
    return FileVerdict::kNothing;
  }
  if (!before.ok() || *before != *now) return FileVerdict::kWait;
  seen.missing = false;
  if (*now == loaded) return FileVerdict::kBack;
  if (seen.acted_on.ok() && *seen.acted_on == *now) return FileVerdict::kNothing;
  seen.acted_on = now;
  if (failed) return FileVerdict::kChanged;
  return SameFile(*now, loaded) ? FileVerdict::kOverwritten : FileVerdict::kReplaced;
}

void FileWatch::Start() {
  loop_.RunAfter(kInterval, [this] { Look(); });
}

// Of what serves, or should.
void FileWatch::Look() {
  std::vector<std::pair<Key, config::ModelOptions>> versions;
  for (const auto& [name, model] : fleet_.models()) {
    for (const auto& version : model->versions) {
      const WorkerState state = version->process->state();
      const bool settled = state == WorkerState::kReady || state == WorkerState::kFailed;
      if (version->routed && settled) versions.emplace_back(Key(name, version->number), version->options);
    }
  }
  std::erase_if(seen_, [&](const auto& entry) {
    const auto found = fleet_.models().find(entry.first.first);
    return found == fleet_.models().end() || found->second->Find(entry.first.second) == nullptr;
  });
  background_.Run<Found>(
      [versions = std::move(versions)] {
        Found found;
        for (const auto& [key, options] : versions) found.emplace_back(key, IdentifyModel(options));
        return found;
      },
      [this](const Found& found) {
        Judge(found);
        Start();
      });
}

void FileWatch::Judge(const Found& found) {
  if (operations_.busy()) return;  // which may be about these very files
  for (const auto& [key, now] : found) {
    Model* const model = fleet_.Find(key.first);
    ModelVersion* const version = model == nullptr ? nullptr : model->Find(key.second);
    if (version == nullptr || !version->routed) continue;
    version->file_change = ChangeOf(version->file, now);
    const bool failed = version->process->state() == WorkerState::kFailed;
    if (!failed && !version->ready()) continue;
    const FileVerdict verdict = JudgeFile(version->file, failed, now, seen_[key]);
    if (verdict != FileVerdict::kNothing && verdict != FileVerdict::kWait) Act(*version, verdict, now);
  }
}

void FileWatch::Act(const ModelVersion& version, FileVerdict verdict, const absl::StatusOr<FileIdentity>& now) {
  const std::string& model = version.model->options.name;
  const auto say = [&](std::string_view text) {
    LogWarning(text, {{"model", model}, {"version", version.number}, {"path", version.options.path}});
  };
  switch (verdict) {
    case FileVerdict::kNothing:
    case FileVerdict::kWait:
      return;
    case FileVerdict::kMissing:
      return LogWarning("model file cannot be read", {{"model", model}, {"reason", MessageOf(now.status())}});
    case FileVerdict::kReplaced:
      return say("model file replaced, a reload serves the new one");
    case FileVerdict::kBack:
      say("model file is back, the failed model is started again");
      return operations_.Load(model, "", /*dry_run=*/false, [](const auto&) {});
    case FileVerdict::kChanged:
      say("model file changed, the failed model is tried again");
      return Reload(model, /*serves=*/false);
    case FileVerdict::kOverwritten:
      break;
  }
  switch (version.model->options.on_file_change) {
    case config::FileChange::kWarn:
      return say("model file overwritten in place, what its worker computes is broken until a reload");
    case config::FileChange::kRefuse:
      say("model file overwritten in place, the model refuses requests until a reload");
      return Refuse(model);
    case config::FileChange::kReload:
      say("model file overwritten in place, it is reloaded");
      return Reload(model, /*serves=*/true);
  }
}

void FileWatch::Reload(const std::string& model, bool serves) {
  operations_.Swap({.model = model}, [this, model, serves](absl::StatusOr<SwapResult> swapped) {
    if (swapped.ok()) return;
    LogError(serves ? "changed model file not loaded, the model refuses requests" : "changed model file not loaded",
             {{"model", model}, {"reason", MessageOf(swapped.status())}});
    if (serves) loop_.Post([this, model] { Refuse(model); });
  });
}

void FileWatch::Refuse(const std::string& model) {
  operations_.Drain(model, Milliseconds(0), [](const auto&) {});
}

}  // namespace inferd::daemon
