// The worker's command line.
//
//   inferd-worker --config /dev/fd/3 --model chat --model-version 2 --listen unix:/run/inferd/w/chat-2.sock,
//                 --lifeline-fd 4 --report-fd 5
//   inferd-worker --config inferd.yaml --model chat --check
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace inferd::worker {

struct WorkerOptions {
  std::string config;
  std::string model;
  uint64_t version = 1;
  std::string listen;
  int lifeline_fd = -1, report_fd = -1;
  bool sandbox = true;
  uint32_t user = 0;          // to become, with the group of that number; 0: none
  uint32_t socket_group = 0;  // that may connect, beside the user that starts the worker; 0: nobody
  bool quiet_load = false;
  bool check = false;
};

// An exit code where the program ends here: --help, or a usage error that was explained on stderr.
std::optional<int> ReadCommandLine(int argc, const char* const* argv, WorkerOptions& options);

}  // namespace inferd::worker
