#include "daemon/service_manager.h"

#include <fmt/format.h>
#include <systemd/sd-daemon.h>

#include <algorithm>
#include <utility>

namespace inferd::daemon {

ServiceManager::ServiceManager()
    : ServiceManager([](const std::string& message) { sd_notify(/*unset_environment=*/0, message.c_str()); }) {}

ServiceManager::ServiceManager(std::function<void(const std::string&)> send)
    : send_(std::move(send)), thread_([this] { SendLoop(); }) {}

ServiceManager::~ServiceManager() {
  {
    absl::MutexLock lock(&mutex_);
    closing_ = true;
  }
  thread_.join();
}

void ServiceManager::SendLoop() {
  for (;;) {
    std::vector<std::string> messages;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &ServiceManager::HasWork));
      if (waiting_.empty()) return;
      messages.swap(waiting_);
    }
    for (const std::string& message : messages) send_(message);
  }
}

void ServiceManager::Send(std::string message) {
  absl::MutexLock lock(&mutex_);
  waiting_.push_back(std::move(message));
}

void ServiceManager::Ready(std::string_view status_line) {
  status_line_ = status_line;
  Send(fmt::format("READY=1\nSTATUS={}", status_line));
}

void ServiceManager::Reloading(MonotonicTime now) {
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count();
  status_line_ = "reloading";
  Send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}\nSTATUS=reloading", microseconds));
}

void ServiceManager::Stopping(std::string_view status_line) {
  status_line_ = status_line;
  Send(fmt::format("STOPPING=1\nSTATUS={}", status_line));
}

void ServiceManager::Status(std::string_view status_line) {
  if (status_line == status_line_) return;
  status_line_ = status_line;
  Send(fmt::format("STATUS={}", status_line));
}

void ServiceManager::FeedWatchdog() { Send("WATCHDOG=1"); }

std::optional<Milliseconds> ServiceManager::WatchdogInterval() {
  uint64_t microseconds = 0;
  if (sd_watchdog_enabled(/*unset_environment=*/0, &microseconds) <= 0) return std::nullopt;
  return std::max(Milliseconds(1), Milliseconds(microseconds / 2000));
}

}  // namespace inferd::daemon
