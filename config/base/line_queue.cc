// The writing thread owns a share of the state, so that it may stay behind in a write that never returns.
#include "config/base/line_queue.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <deque>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "config/base/steady_mutex.h"

namespace inferd {

struct LineQueue::State {
  State(int fd, size_t capacity_bytes) : fd(fd), capacity_bytes(capacity_bytes) {}

  const int fd;
  const size_t capacity_bytes;
  SteadyMutex mutex;
  std::deque<std::string> lines ABSL_GUARDED_BY(mutex);
  size_t waiting_bytes ABSL_GUARDED_BY(mutex) = 0;
  uint64_t dropped ABSL_GUARDED_BY(mutex) = 0;
  bool closing ABSL_GUARDED_BY(mutex) = false;
  bool abandoned ABSL_GUARDED_BY(mutex) = false;
  bool finished ABSL_GUARDED_BY(mutex) = false;

  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex) { return !lines.empty() || closing; }
};

namespace {

// A pipe takes this much in one piece, so that lines of several processes do not mix.
constexpr size_t kAtomicBytes = PIPE_BUF;

// Waits until `fd` takes bytes; false when the queue is given up meanwhile.
template <typename State>
bool WaitWritable(State& state) {
  for (;;) {
    pollfd entry{.fd = state.fd, .events = POLLOUT, .revents = 0};
    if (poll(&entry, 1, /*timeout in ms*/ 100) > 0) return true;
    SteadyLock lock(&state.mutex);
    if (state.abandoned) return false;
  }
}

// Writes all of `text`; false when the descriptor refuses or the queue is given up.
template <typename State>
bool WriteAll(State& state, std::string_view text) {
  while (!text.empty()) {
    if (!WaitWritable(state)) return false;
    const ssize_t written = write(state.fd, text.data(), std::min(text.size(), kAtomicBytes));
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// Joins whole waiting lines up to the atomic size, at least one; returns how many.
template <typename State>
uint64_t TakeBatch(State& state, std::string& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state.mutex) {
  uint64_t count = 0;
  while (!state.lines.empty() && (count == 0 || batch.size() + state.lines.front().size() <= kAtomicBytes)) {
    batch += state.lines.front();
    state.lines.pop_front();
    ++count;
  }
  return count;
}

template <typename State>
void WriteLoop(std::shared_ptr<State> state) {
  for (;;) {
    std::string batch;
    uint64_t count = 0;
    {
      SteadyLock lock(&state->mutex);
      const auto has_work = [&state]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state->mutex) { return state->HasWork(); };
      state->mutex.Await(has_work);
      if (state->lines.empty()) {
        state->finished = true;
        return;
      }
      count = TakeBatch(*state, batch);
    }
    const bool written = WriteAll(*state, batch);
    SteadyLock lock(&state->mutex);
    state->waiting_bytes -= batch.size();
    if (!written) state->dropped += count;
  }
}

}  // namespace

LineQueue::LineQueue(int fd, size_t capacity_bytes) : state_(std::make_shared<State>(fd, capacity_bytes)) {
  // The thread takes no signals: it may be older than the signal descriptor of main.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(WriteLoop<State>, state_).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LineQueue::~LineQueue() { Close(Milliseconds(0)); }

void LineQueue::Push(std::string line) {
  SteadyLock lock(&state_->mutex);
  if (state_->closing || state_->waiting_bytes + line.size() > state_->capacity_bytes) {
    ++state_->dropped;
    return;
  }
  state_->waiting_bytes += line.size();
  state_->lines.push_back(std::move(line));
}

uint64_t LineQueue::dropped() const {
  SteadyLock lock(&state_->mutex);
  return state_->dropped;
}

void LineQueue::Close(Milliseconds wait) {
  SteadyLock lock(&state_->mutex);
  state_->closing = true;
  const auto finished = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) { return state_->finished; };
  state_->mutex.AwaitUntil(finished, Clock::System().Now() + wait);
  if (state_->finished) return;
  state_->abandoned = true;
  state_->dropped += state_->lines.size();
  state_->lines.clear();
}

}  // namespace inferd
