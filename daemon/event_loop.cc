#include "daemon/event_loop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "config/base/status.h"

namespace inferd::daemon {

absl::StatusOr<std::unique_ptr<EventLoop>> EventLoop::Create(const Clock& clock) {
  UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return FromErrno(errno, "eventfd");
  return std::unique_ptr<EventLoop>(new EventLoop(clock, std::move(wake)));
}

void EventLoop::Post(Callback callback) {
  absl::MutexLock lock(&mutex_);
  posted_.push_back(std::move(callback));
  const uint64_t one = 1;
  // Fails only when the counter is full, and then the loop is awake anyway.
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
}

EventLoop::TimerId EventLoop::RunAfter(Milliseconds delay, Callback callback) {
  const TimerId id = next_timer_++;
  timers_[id] = {clock_.Now() + delay, std::move(callback)};
  return id;
}

void EventLoop::Cancel(TimerId timer) { timers_.erase(timer); }

void EventLoop::WatchReadable(int fd, Callback callback) { watches_[fd] = std::move(callback); }

void EventLoop::Unwatch(int fd) { watches_.erase(fd); }

bool EventLoop::RunPosted() {
  std::vector<Callback> batch;
  {
    absl::MutexLock lock(&mutex_);
    batch.swap(posted_);
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t drained = read(wake_.get(), &count, sizeof count);
  }
  for (const Callback& callback : batch) callback();
  return !batch.empty();
}

bool EventLoop::RunDueTimers() {
  const MonotonicTime now = clock_.Now();
  std::vector<std::pair<MonotonicTime, TimerId>> due;
  for (const auto& [id, timer] : timers_) {
    if (timer.due <= now) due.emplace_back(timer.due, id);
  }
  std::sort(due.begin(), due.end());
  for (const auto& [time, id] : due) {
    const auto timer = timers_.find(id);
    if (timer == timers_.end()) continue;  // cancelled by one before it
    const Callback callback = std::move(timer->second.callback);
    timers_.erase(timer);
    callback();
  }
  return !due.empty();
}

int EventLoop::TimeoutMilliseconds() const {
  if (timers_.empty()) return -1;
  MonotonicTime first = MonotonicTime::max();
  for (const auto& [id, timer] : timers_) first = std::min(first, timer.due);
  const auto wait = std::chrono::ceil<Milliseconds>(first - clock_.Now()).count();
  return static_cast<int>(std::clamp<int64_t>(wait, 0, 60'000));
}

void EventLoop::WaitForDescriptors() {
  std::vector<pollfd> entries = {{wake_.get(), POLLIN, 0}};
  for (const auto& [fd, callback] : watches_) entries.push_back({fd, POLLIN, 0});
  if (poll(entries.data(), entries.size(), TimeoutMilliseconds()) <= 0) return;
  for (size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].revents == 0) continue;
    const auto watch = watches_.find(entries[i].fd);
    if (watch == watches_.end()) continue;  // unwatched by one before it
    const Callback callback = watch->second;
    callback();
  }
}

void EventLoop::Run() {
  while (!stopped_) {
    WaitForDescriptors();
    RunPosted();
    RunDueTimers();
  }
}

void EventLoop::RunPending() {
  bool ran = true;
  while (ran) {
    ran = RunPosted();
    ran = RunDueTimers() || ran;
  }
}

}  // namespace inferd::daemon
