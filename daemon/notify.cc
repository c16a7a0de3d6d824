#include "daemon/notify.h"

#include <fmt/format.h>
#include <systemd/sd-daemon.h>

#include <string>

namespace inferd::daemon {
namespace {

void Send(const std::string& message) { sd_notify(/*unset_environment=*/0, message.c_str()); }

}  // namespace

void NotifyReady(std::string_view status_line) { Send(fmt::format("READY=1\nSTATUS={}", status_line)); }

void NotifyReloading() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  Send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}\nSTATUS=reloading", microseconds));
}

void NotifyStopping(std::string_view status_line) { Send(fmt::format("STOPPING=1\nSTATUS={}", status_line)); }

void NotifyStatus(std::string_view status_line) { Send(fmt::format("STATUS={}", status_line)); }

void NotifyWatchdog() { Send("WATCHDOG=1"); }

std::optional<Milliseconds> WatchdogInterval() {
  uint64_t microseconds = 0;
  if (sd_watchdog_enabled(/*unset_environment=*/0, &microseconds) <= 0) return std::nullopt;
  return std::max(Milliseconds(1), Milliseconds(microseconds / 2000));
}

}  // namespace inferd::daemon
