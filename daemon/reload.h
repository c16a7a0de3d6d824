// What a new configuration changes, found out before anything is done: a pure function, so that --dry-run and the real
// reload cannot differ.
//
//   ASSIGN_OR_RETURN(ReloadPlan plan, PlanReload(running, next));
//   for (const std::string& line : plan.changes) LogInfo(line);
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/rollout.h"

namespace inferd::daemon {

// A configuration with the identity of each model file that it names.
struct IdentifiedConfig {
  config::Config config;
  std::map<std::string, FileIdentity> models;  // by model name
  // The gateway that runs was started from another file than the one in its place now.
  bool other_gateway_program = false;
};

// Whether a worker could serve the model. An error that begins with the name of one of its options ("kv_cache.bytes: ")
// is shown with that option's line.
using LookInside = std::function<absl::Status(const config::Config& config, const config::ModelOptions& model)>;

// Reads the file and what it names; errors name the file, the line and the model, and with `look_inside` every model
// that is refused, a line each. Blocks on the disk: not for the
// loop's thread. Without `look_inside`, what a model's files hold is left to the worker that loads them, before it
// replaces one.
absl::StatusOr<IdentifiedConfig> LoadIdentifiedConfig(const std::string& file, const LookInside& look_inside = nullptr);

struct RunningModel {
  config::ModelOptions options;
  FileIdentity file;
  bool failed = false;
  bool unloaded = false;
};

struct RunningState {
  config::Config config;
  std::map<std::string, RunningModel> models;
  bool gateway_failed = false;
};

struct ReloadPlan {
  RolloutRequest rollout;
  // Unchanged models that failed: started again.
  std::vector<std::string> retries;
  bool replace_gateway = false;
  // One line for each change.
  std::vector<std::string> changes;
};

// FAILED_PRECONDITION names an option that cannot change while the daemon runs.
absl::StatusOr<ReloadPlan> PlanReload(const RunningState& running, const IdentifiedConfig& next);

}  // namespace inferd::daemon
