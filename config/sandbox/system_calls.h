// Which system calls a process may make from now on, by seccomp. Each stage is a filter of its own, and later ones only
// take away.
//
//   RETURN_IF_ERROR(LimitSystemCalls(Stage::kLoadingWorker));    // before any thread, and anything of the model's file
//   ... load ...
//   RETURN_IF_ERROR(LimitSystemCalls(Stage::kServingWorker));
//
// A call that is not allowed fails with EPERM: libraries that try something else go on, and who has taken the process
// over gets nothing. Calls in another architecture's numbering end the process. The filter holds for all threads.
#pragma once

#include "absl/status/status.h"

namespace inferd::sandbox {

enum class Stage {
  // Children start with it, so that it names what nobody may do: look into other processes, load kernel code, mount,
  // make namespaces, io_uring, userfaultfd, bpf, keys of the kernel, set the clock.
  kSupervisor,
  // Sockets of all kinds but raw ones, and files as their modes and Landlock allow; no programs, processes or code.
  kGateway,
  // Threads, memory without code, reading files, connections that are accepted. Signals, limits and niceness for this
  // process alone.
  kLoadingWorker,
  // Without files.
  kServingWorker,
};

absl::Status LimitSystemCalls(Stage stage);

}  // namespace inferd::sandbox
