#include "daemon/reload.h"

#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "config/api_keys.h"
#include "config/base/status.h"
#include "config/load.h"
#include "daemon/models_directory.h"

namespace inferd::daemon {
namespace {

using config::Config;
using config::ModelOptions;

// Options are compared as they are printed, so that none can be forgotten here.
// Without those that are the supervisor's alone, for which no worker need be replaced.
std::string PrintedForWorker(const ModelOptions& model) {
  const ModelOptions defaults;
  Config config;
  config.models = {model};
  config.models[0].aliases.clear();
  config.models[0].preload = defaults.preload;
  config.models[0].idle_unload = defaults.idle_unload;
  config.models[0].pinned = defaults.pinned;
  config.models[0].on_file_change = defaults.on_file_change;
  return PrintConfig(config);
}

// What the gateway alone is told by its configuration.
std::string PrintedForGateway(const Config& config) {
  Config part;
  part.auth = config.auth;
  part.limits = config.limits;
  part.log = config.log;
  part.supervisor.load_wait = config.supervisor.load_wait;
  return PrintConfig(part);
}

// What takes effect without the replacement of a process.
std::string PrintedForSupervisor(const Config& config) {
  Config part;
  part.supervisor = config.supervisor;
  part.supervisor.load_wait = Config().supervisor.load_wait;
  return PrintConfig(part);
}

// A port that the system chose for 0 is what 0 meant.
std::string InForce(const Address& running, const Address& next) {
  Address in_force = next;
  if (next.port == 0) in_force.port = running.port;
  return in_force.ToString();
}

std::string Text(const Address& address) { return address == Address() ? "none" : address.ToString(); }

std::string Text(const config::AdminTlsOptions& tls) {
  return fmt::format("{}, {}, {}", tls.certificate, tls.key, tls.client_ca);
}

absl::Status CheckFixed(const Config& running, const Config& next) {
  const auto check = [](std::string_view option, const std::string& was, const std::string& is) -> absl::Status {
    if (was == is) return absl::OkStatus();
    return FailedPrecondition("{}: cannot change from {} to {} without a restart of the daemon", option, was, is);
  };
  RETURN_IF_ERROR(check("listen.http", running.listen.http.ToString(), InForce(running.listen.http, next.listen.http)));
  RETURN_IF_ERROR(check("listen.grpc", running.listen.grpc.ToString(), InForce(running.listen.grpc, next.listen.grpc)));
  RETURN_IF_ERROR(check("listen.admin", running.listen.admin.ToString(), next.listen.admin.ToString()));
  RETURN_IF_ERROR(check("listen.admin_group", running.listen.admin_group, next.listen.admin_group));
  RETURN_IF_ERROR(check("listen.admin_tcp", Text(running.listen.admin_tcp), Text(next.listen.admin_tcp)));
  RETURN_IF_ERROR(check("admin_tls", Text(running.admin_tls), Text(next.admin_tls)));
  return check("run_directory", running.run_directory, next.run_directory);
}

void PlanModel(const RunningModel* running, const ModelOptions& next, const FileIdentity& file, bool other_kernels,
               ReloadPlan& plan) {
  const auto start = [&](std::string_view why) {
    const bool unloaded = !next.preload && (running == nullptr || running->unloaded);
    plan.rollout.starts.push_back({.options = next, .file = file, .unloaded = unloaded});
    plan.changes.push_back(fmt::format("{}: {}", next.name, why));
  };
  if (running == nullptr) return start("added");
  if (running->options.path != next.path) return start(fmt::format("swapped to {}", next.path));
  if (running->file != file) return start("swapped, the file changed");
  if (PrintedForWorker(running->options) != PrintedForWorker(next)) return start("replaced, its options changed");
  if (other_kernels) return start("replaced, instruction_set changed");
  const ModelOptions& was = running->options;
  const bool other_aliases = was.aliases != next.aliases;
  const bool other_loading = was.preload != next.preload || was.idle_unload != next.idle_unload ||
                             was.pinned != next.pinned || was.on_file_change != next.on_file_change;
  if (other_aliases || other_loading) plan.rollout.renames.push_back(next);
  if (other_aliases) plan.changes.push_back(fmt::format("{}: aliases changed", next.name));
  if (other_loading)
    plan.changes.push_back(fmt::format("{}: preload, idle_unload, pinned or on_file_change changed", next.name));
  if (running->failed) {
    plan.retries.push_back(next.name);
    plan.changes.push_back(fmt::format("{}: had failed, started again", next.name));
  }
}

// Of the option at fault, where the file has it, else of the model's path.
int LineOf(const absl::Status& status, const std::string& section, const config::OptionLines& lines) {
  const auto option = lines.find(section + FieldOf(status));
  return option != lines.end() ? option->second : lines.at(section + "path");
}

}  // namespace

absl::StatusOr<IdentifiedConfig> LoadIdentifiedConfig(const std::string& file, const LookInside& look_inside) {
  IdentifiedConfig out;
  config::OptionLines lines;
  ASSIGN_OR_RETURN(out.config, LoadConfigWithModels(file, &lines));
  RETURN_IF_ERROR(config::CheckKeysFile(out.config));
  std::vector<std::string> refused;
  for (size_t i = 0; i < out.config.models.size(); ++i) {
    const ModelOptions& model = out.config.models[i];
    absl::StatusOr<FileIdentity> identity = IdentifyModel(model);
    if (identity.ok() && look_inside != nullptr) {
      if (absl::Status status = look_inside(out.config, model); !status.ok()) identity = status;
    }
    if (!identity.ok()) {
      const int line = LineOf(identity.status(), fmt::format("models[{}].", i), lines);
      const absl::Status error = Annotate(identity.status(), fmt::format("{}:{}: model {}", file, line, model.name));
      if (look_inside == nullptr) return error;
      refused.emplace_back(MessageOf(error));
      continue;
    }
    out.models[model.name] = *identity;
  }
  if (!refused.empty()) return InvalidArgument("{}", fmt::join(refused, "\n"));
  return out;
}

absl::StatusOr<ReloadPlan> PlanReload(const RunningState& running, const IdentifiedConfig& next) {
  RETURN_IF_ERROR(CheckFixed(running.config, next.config));
  ReloadPlan plan;
  plan.rollout.drain = next.config.supervisor.drain;
  const bool other_kernels = running.config.instruction_set != next.config.instruction_set;
  for (const ModelOptions& model : next.config.models) {
    const auto found = running.models.find(model.name);
    const RunningModel* const now = found == running.models.end() ? nullptr : &found->second;
    PlanModel(now, model, next.models.at(model.name), other_kernels, plan);
  }
  for (const auto& [name, model] : running.models) {
    if (next.config.FindModel(name) != nullptr) continue;
    plan.rollout.removes.push_back(name);
    plan.changes.push_back(fmt::format("{}: removed", name));
  }
  if (PrintedForSupervisor(running.config) != PrintedForSupervisor(next.config)) {
    plan.changes.push_back("supervisor: load_timeout, watchdog, drain, memory_budget or restart changed");
  }
  // The content of the keys file is the gateway's to watch.
  if (PrintedForGateway(running.config) != PrintedForGateway(next.config)) {
    plan.replace_gateway = true;
    plan.changes.push_back("gateway: replaced, auth, limits, log or load_wait changed");
  } else if (next.other_gateway_program) {
    plan.replace_gateway = true;
    plan.changes.push_back("gateway: replaced, the program changed");
  } else if (running.gateway_failed) {
    plan.replace_gateway = true;
    plan.changes.push_back("gateway: had failed, started again");
  }
  return plan;
}

}  // namespace inferd::daemon
