#include "config/base/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "config/base/signals.h"
#include "config/base/status.h"
#include "config/base/unique_fd.h"

namespace inferd {
namespace {

constexpr size_t kMaxReasonBytes = 4096;

// A descriptor from the command line: refused if it is not open, and not passed on to programs that we might start.
absl::StatusOr<UniqueFd> Adopt(int fd, std::string_view name) {
  if (fd < 0) return UniqueFd();
  if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return FromErrno(errno, fmt::format("{} {}", name, fd));
  return UniqueFd(fd);
}

}  // namespace

struct ChildProcess::Impl {
  UniqueFd signals;
  UniqueFd lifeline;
  UniqueFd report;
  UniqueFd stop;
  std::function<void(int)> on_signal;
  std::function<void()> on_daemon_ends;
  std::atomic<int> drain_milliseconds = 0;  // 0: not told
  std::thread thread;

  void Watch();
  void HandleSignals(bool& ending);
};

void ChildProcess::Impl::HandleSignals(bool& ending) {
  int value = 0;
  while (const std::optional<int> signal = ReadSignal(signals.get(), &value)) {
    if (*signal == SIGHUP) continue;
    if (*signal == SIGUSR2) {
      on_daemon_ends();
      continue;
    }
    if (std::exchange(ending, true)) _exit(kExitFailed);
    drain_milliseconds = value;
    on_signal(*signal);
  }
}

void ChildProcess::Impl::Watch() {
  bool ending = false;
  for (;;) {
    // poll skips a negative descriptor, which is what a missing lifeline has.
    pollfd entries[] = {{signals.get(), POLLIN, 0}, {lifeline.get(), POLLIN, 0}, {stop.get(), POLLIN, 0}};
    if (poll(entries, std::size(entries), -1) < 0) continue;
    if (entries[1].revents != 0) _exit(kExitFailed);
    if (entries[2].revents != 0) return;
    HandleSignals(ending);
  }
}

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(ChildDescriptors descriptors,
                                                                  std::function<void(int)> on_signal,
                                                                  std::function<void()> on_daemon_ends) {
  auto impl = std::make_unique<Impl>();
  ASSIGN_OR_RETURN(impl->lifeline, Adopt(descriptors.lifeline_fd, "--lifeline-fd"));
  ASSIGN_OR_RETURN(impl->report, Adopt(descriptors.report_fd, "--report-fd"));
  ASSIGN_OR_RETURN(impl->signals, OpenSignalFd({SIGTERM, SIGINT, SIGHUP, SIGUSR2}));
  impl->stop = UniqueFd(eventfd(0, EFD_CLOEXEC));
  if (!impl->stop) return FromErrno(errno, "eventfd");
  impl->on_signal = std::move(on_signal);
  impl->on_daemon_ends = std::move(on_daemon_ends);
  impl->thread = std::thread(&Impl::Watch, impl.get());
  return std::unique_ptr<ChildProcess>(new ChildProcess(std::move(impl)));
}

ChildProcess::ChildProcess(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ChildProcess::~ChildProcess() {
  const uint64_t one = 1;
  CHECK(write(impl_->stop.get(), &one, sizeof one) == sizeof one);
  impl_->thread.join();
}

Milliseconds ChildProcess::DrainTime(Milliseconds configured) const {
  const int told = impl_->drain_milliseconds;
  return told > 0 ? Milliseconds(told) : configured;
}

void ChildProcess::Report(const absl::Status& reason) const {
  if (!impl_->report) return;
  std::string field = FieldOf(reason), text(TextOf(reason));
  for (std::string* line : {&field, &text}) std::replace(line->begin(), line->end(), '\n', ' ');
  std::string line = field + '\n' + text;
  line.resize(std::min(line.size(), kMaxReasonBytes - 1));
  line += '\n';
  // The pipe is empty and this fits in it, so that one write does not block; nothing is left to do if it fails.
  [[maybe_unused]] const ssize_t written = write(impl_->report.get(), line.data(), line.size());
}

}  // namespace inferd
