#include "daemon/child_plans.h"

#include <memory>
#include <random>

#include "config/load.h"
#include "config/units.h"
#include "daemon/run_directory.h"

namespace inferd::daemon {
namespace {

constexpr int kGatewayOomScore = 200;  // the supervisor goes last

std::function<double()> RandomNumbers() {
  auto engine = std::make_shared<std::mt19937_64>(std::random_device{}());
  return [engine] { return std::uniform_real_distribution<double>(0, 1)(*engine); };
}

}  // namespace

config::Config ConfigOfWorker(const config::Config& config, const config::ModelOptions& model) {
  config::Config own;
  own.listen = config.listen;
  own.admin_tls = config.admin_tls;
  own.run_directory = config.run_directory;
  own.instruction_set = config.instruction_set;
  own.auth = config.auth;
  own.limits = config.limits;
  own.log = config.log;
  own.supervisor = config.supervisor;
  own.models = {model};
  return own;
}

std::string WorkerProgram(const std::string& programs) { return programs + "/inferd-worker"; }

ProcessPlan PlanWorker(EventLoop& loop, const config::Config& config, const std::string& programs,
                       const config::ModelOptions& model, uint64_t version, const ChildUsers& users, uint32_t user) {
  const std::string socket = WorkerSocketPath(config.run_directory, model.name, version);
  ProcessPlan plan;
  plan.name = "worker " + model.name + "@" + std::to_string(version);
  plan.spec = {
      .program = WorkerProgram(programs),
      .arguments = {"--model", model.name, "--model-version", std::to_string(version), "--listen", "unix:" + socket},
      .config_yaml = PrintConfig(ConfigOfWorker(config, model)),
      .oom_score = kWorkerOomScore,
      .cpus = config::ParseCpuList(model.cpus).value(),
      .nice = static_cast<int>(model.nice),
      .memory_limit_bytes = model.memory_limit,
      .user = user,
      .group = "worker-" + model.name + "-" + std::to_string(version)};
  if (user != 0) {
    for (const auto& [flag, number] : {std::pair("--user", user), std::pair("--socket-group", users.gateway())}) {
      plan.spec.arguments.insert(plan.spec.arguments.end(), {flag, std::to_string(number)});
    }
  }
  plan.quiet_arguments = {"--quiet-load"};
  plan.socket_path = socket;
  plan.probe = [&loop, socket](ProbeEvents events) { return ProbeWorker(loop, socket, std::move(events)); };
  plan.options = config.supervisor;
  plan.random = RandomNumbers();
  return plan;
}

std::string GatewayProgram(const std::string& programs) { return programs + "/inferd-gateway"; }

ProcessPlan PlanGateway(EventLoop& loop, const config::Config& config, const std::string& programs,
                        GatewaySockets sockets, uint64_t number, const ChildUsers& users) {
  const std::string health_name = "inferd-gateway-" + std::to_string(number);
  ProcessPlan plan;
  plan.name = "gateway";
  plan.spec = {.program = GatewayProgram(programs),
               .arguments = {"--admin", config.listen.admin.ToString(), "--health-name", health_name},
               .config_yaml = PrintConfig(config),
               .descriptors = {{"--http-fd", sockets.http_fd}, {"--grpc-fd", sockets.grpc_fd}},
               .oom_score = kGatewayOomScore,
               .user = users.gateway()};
  if (users.gateway() != 0)
    plan.spec.arguments.insert(plan.spec.arguments.end(), {"--user", std::to_string(users.gateway())});
  if (users.operators())
    plan.spec.arguments.insert(plan.spec.arguments.end(), {"--group", std::to_string(*users.operators())});
  plan.probe = [&loop, address = config.listen.grpc, health_name](ProbeEvents events) {
    return ProbeGateway(loop, address, health_name, std::move(events));
  };
  plan.watch_progress = false;
  plan.options = config.supervisor;
  plan.random = RandomNumbers();
  return plan;
}

}  // namespace inferd::daemon
