// A thread that does something again and again, with pauses between the turns, until it is destroyed.
//
//   RepeatingThread reporter([this] { Report(); return Milliseconds(500); });
//
// As a member it comes last: the thread runs as soon as it exists, and uses what stands above.
#pragma once

#include <functional>
#include <thread>
#include <utility>

#include "config/base/clock.h"
#include "config/base/steady_mutex.h"

namespace inferd {

class RepeatingThread {
 public:
  // `turn` returns the pause after it. `interrupt` is called once at the end, from the thread that ends this one: it
  // cuts a turn short that waits for something; turns that begin later can ask stopping().
  explicit RepeatingThread(std::function<Milliseconds()> turn, std::function<void()> interrupt = nullptr)
      : turn_(std::move(turn)), interrupt_(std::move(interrupt)), thread_([this] { Run(); }) {}
  ~RepeatingThread() { Stop(); }
  RepeatingThread(const RepeatingThread&) = delete;

  // Waits for the end of the turn under way. Once; more calls do nothing.
  void Stop() {
    if (!thread_.joinable()) return;
    {
      SteadyLock lock(&mutex_);
      stopping_ = true;
    }
    if (interrupt_) interrupt_();
    thread_.join();
  }

  bool stopping() const {
    SteadyLock lock(&mutex_);
    return stopping_;
  }

 private:
  void Run() {
    while (true) {
      const Milliseconds pause = turn_();
      SteadyLock lock(&mutex_);
      const auto stopping = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_; };
      if (mutex_.AwaitUntil(stopping, Clock::System().Now() + pause)) return;
    }
  }

  const std::function<Milliseconds()> turn_;
  const std::function<void()> interrupt_;
  mutable SteadyMutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace inferd
