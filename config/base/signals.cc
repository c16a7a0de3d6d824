#include "config/base/signals.h"

#include <sys/signalfd.h>

#include <cerrno>
#include <csignal>

#include "config/base/status.h"

namespace inferd {

absl::StatusOr<UniqueFd> OpenSignalFd(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  if (const int error = pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0) {
    return FromErrno(error, "block signals");
  }
  UniqueFd fd(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd) return FromErrno(errno, "signalfd");
  return fd;
}

std::optional<int> ReadSignal(int signal_fd, int* value) {
  signalfd_siginfo info;
  if (read(signal_fd, &info, sizeof info) != sizeof info) return std::nullopt;
  if (value != nullptr) *value = info.ssi_code == SI_QUEUE ? info.ssi_int : 0;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace inferd
