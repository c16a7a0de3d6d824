// Wakes one waiting coroutine. All calls on the executor's thread; from another thread, post() them there.
//
//   Signal changed(executor);
//   bool notified = co_await changed.Wait(deadline);   // false: the deadline passed first
//   changed.Notify();                                  // remembered if nobody waits
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>

#include "gateway/async/task.h"

namespace inferd::gateway {

using TimePoint = std::chrono::steady_clock::time_point;

class Signal {
 public:
  explicit Signal(const Executor& executor) : timer_(executor) {}
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  void Notify();
  Task<bool> Wait(TimePoint deadline);

 private:
  boost::asio::steady_timer timer_;
  bool notified_ = false;
  bool waiting_ = false;
};

}  // namespace inferd::gateway
