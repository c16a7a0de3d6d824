// What the service manager is told (sd_notify(3)); without one, nothing happens.
#pragma once

#include <optional>
#include <string_view>

#include "config/base/clock.h"

namespace inferd::daemon {

void NotifyReady(std::string_view status_line);
// With the monotonic time that belongs to RELOADING=1.
void NotifyReloading();
void NotifyStopping(std::string_view status_line);
void NotifyStatus(std::string_view status_line);
void NotifyWatchdog();

// How often the service manager wants to hear NotifyWatchdog, nullopt if not at all.
std::optional<Milliseconds> WatchdogInterval();

}  // namespace inferd::daemon
