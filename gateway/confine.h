// What a gateway gives up before its first thread and its first byte of a stranger's.
//
//   const absl::StatusOr<Confinement> confined = Confine({.user = 60600}, config);   // before any thread
//   ... open what listens ...
//   RETURN_IF_ERROR(sandbox::LimitSystemCalls(sandbox::Stage::kGateway));
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/config.h"

namespace inferd::gateway {

struct ConfinementOptions {
  uint32_t user = 0;          // to become, with the group of that number; 0: none
  std::vector<gid_t> groups;  // beside it
  bool tcp_listen = false;    // listening sockets are still to be opened
  bool tcp_connect = false;   // the supervisor is reached by TCP
};

struct Confinement {
  int landlock_abi = 0;  // in force; 0: the kernel has none
  std::string no_user;   // why it did not become `user`
};

// Of files, the keys are left (read again when they change), and what the system's libraries read.
absl::StatusOr<Confinement> Confine(const ConfinementOptions& options, const config::Config& config);

}  // namespace inferd::gateway
