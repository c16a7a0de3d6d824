// Events of one request on their way from the engine's thread to its reader. Pushing never waits: a reader that does
// not read loses the request once `capacity_bytes` are waiting; it gets what waits, and then CANCELLED.
//
//   EventQueue queue(1 << 20, [&] { delivery.Wake(stream); });   // called on the engine's thread: must not wait
//   queue.Push(std::move(event));                                // engine; false: give the request up
//   while (std::optional<Event> event = queue.Pop()) ...         // reader
//   if (std::optional<absl::Status> end = queue.End()) ...       // all was read, and this is how it ended
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "engine/generation/event.h"

namespace inferd::engine {

class EventQueue {
 public:
  EventQueue(size_t capacity_bytes, std::function<void()> on_change)
      : capacity_bytes_(capacity_bytes), on_change_(std::move(on_change)) {}

  // False: the queue was closed, or is now with CANCELLED because the event found no room.
  bool Push(Event event);
  // No more events come. The first status stays.
  void Close(absl::Status status);

  std::optional<Event> Pop();
  // The status once the queue is closed and empty.
  std::optional<absl::Status> End();

 private:
  const size_t capacity_bytes_;
  const std::function<void()> on_change_;
  absl::Mutex mutex_;
  std::deque<Event> events_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<absl::Status> status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace inferd::engine
