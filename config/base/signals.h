// Signals as file descriptors: blocked in every thread, read by one, so that no handler runs between two instructions.
//
//   ASSIGN_OR_RETURN(UniqueFd signals, OpenSignalFd({SIGTERM, SIGINT, SIGHUP}));   // first in main, before any thread
//   ... poll(signals.get()) ...
//   while (std::optional<int> signal = ReadSignal(signals.get())) Handle(*signal);
#pragma once

#include <initializer_list>
#include <optional>

#include "absl/status/statusor.h"
#include "config/base/unique_fd.h"

namespace inferd {

// Blocks `signals` in the calling thread and those it starts later, and returns a non-blocking signalfd for them.
absl::StatusOr<UniqueFd> OpenSignalFd(std::initializer_list<int> signals);

// The next waiting signal, none if nothing waits. `value`: what its sender gave with it (sigqueue), else 0.
std::optional<int> ReadSignal(int signal_fd, int* value = nullptr);

}  // namespace inferd
