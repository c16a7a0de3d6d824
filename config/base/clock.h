// Time, so that tests can replace it. Timers use Now(), which no clock jump moves; dates for people use WallNow().
//
//   void Backoff::Start(const Clock& clock) { retry_at_ = clock.Now() + delay_; }
//   FakeClock clock;                                   // in tests
//   clock.Advance(std::chrono::seconds(3));
#pragma once

#include <chrono>

namespace inferd {

using MonotonicTime = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::system_clock::time_point;
using Milliseconds = std::chrono::milliseconds;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonotonicTime Now() const = 0;
  virtual WallTime WallNow() const = 0;

  // The machine's clocks.
  static const Clock& System();
};

// Stands still until it is told to move. Not for use by several threads at once.
class FakeClock : public Clock {
 public:
  MonotonicTime Now() const override { return now_; }
  WallTime WallNow() const override { return wall_now_; }

  void Advance(std::chrono::nanoseconds by) {
    now_ += std::chrono::duration_cast<MonotonicTime::duration>(by);
    wall_now_ += std::chrono::duration_cast<WallTime::duration>(by);
  }
  // Moves the date alone, as an administrator or a time service does.
  void JumpWall(std::chrono::nanoseconds by) { wall_now_ += std::chrono::duration_cast<WallTime::duration>(by); }

 private:
  MonotonicTime now_ = MonotonicTime(std::chrono::hours(1));
  WallTime wall_now_ = WallTime(std::chrono::hours(24 * 365 * 50));
};

}  // namespace inferd
