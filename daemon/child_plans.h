// How each kind of child is started: program, arguments, descriptors and configuration, as the process protocol says.
#pragma once

#include <cstdint>
#include <string>

#include "config/config.h"
#include "daemon/child_users.h"
#include "daemon/managed_process.h"

namespace inferd::daemon {

// When memory runs out, workers go first.
inline constexpr int kWorkerOomScore = 500;

// Listening sockets that the gateway inherits.
struct GatewaySockets {
  int http_fd = -1;
  int grpc_fd = -1;
};

// `programs`: the directory of inferd-worker and inferd-gateway. The worker gets the whole configuration, with the
// entry of its model replaced by `model` (a swap may have given it another file). `user`: 0 for the daemon's own; its
// socket is then for the gateway of `users`, too.
ProcessPlan PlanWorker(EventLoop& loop, const config::Config& config, const std::string& programs,
                       const config::ModelOptions& model, uint64_t version, const ChildUsers& users = {},
                       uint32_t user = 0);

std::string WorkerProgram(const std::string& programs);
std::string GatewayProgram(const std::string& programs);

// Without the other models, of which there may be a thousand.
config::Config ConfigOfWorker(const config::Config& config, const config::ModelOptions& model);

// `number` tells this gateway's health from that of others on the same socket.
ProcessPlan PlanGateway(EventLoop& loop, const config::Config& config, const std::string& programs,
                        GatewaySockets sockets, uint64_t number, const ChildUsers& users = {});

}  // namespace inferd::daemon
