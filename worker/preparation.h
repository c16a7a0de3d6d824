// What a worker does before its first thread: it listens, opens the files that it will write, becomes the user that it
// is to be, and gives up the rest. Nothing
// that a model's file holds has been read by then, and no thread is outside the sandbox.
//
//   const auto ready = Prepare(options);              // first in main
//   ... start threads ...
//   if (!ready->status.ok()) return Fail(ready->status, ready->exit_code);
//   LoadModel(*ready->model, ready->isa, version, ready->prefixes.get());
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "config/base/unique_fd.h"
#include "config/config.h"
#include "worker/options.h"
#include "worker/prefix_store.h"

namespace inferd::worker {

struct Preparation {
  absl::Status status;  // what failed; the rest is then as far as it came
  int exit_code = 0;
  config::Config config;
  const config::ModelOptions* model = nullptr;  // of it
  std::string isa;                              // empty: the best
  UniqueFd listener;                            // not where only a check is wanted
  std::unique_ptr<PrefixStore> prefixes;        // or null
  absl::Status no_prefixes;                     // why, where the configuration wants some
  std::string no_user;                          // why it did not become the user that it was to become
  int landlock_abi = 0;                         // 0: the kernel has none, or no sandbox is wanted
};

// Does not log: the log's thread does not exist yet.
std::unique_ptr<Preparation> Prepare(const WorkerOptions& options);

}  // namespace inferd::worker
