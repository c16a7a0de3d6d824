// A bounded queue of lines before a file descriptor that may block, be full or be closed: Push never waits.
//
//   LineQueue queue(STDERR_FILENO, 4 << 20);
//   queue.Push("{\"message\":\"ready\"}\n");
//   queue.Close(std::chrono::milliseconds(500));
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "config/base/clock.h"

namespace inferd {

// Safe for use by several threads.
class LineQueue {
 public:
  // Starts the writing thread. `fd` stays the caller's, who leaves it open for good (a blocked write may outlive
  // Close).
  LineQueue(int fd, size_t capacity_bytes);
  // Close with no wait.
  ~LineQueue();

  // Takes a line with its newline, or counts it as dropped when `capacity_bytes` are waiting.
  void Push(std::string line);

  // Lines that found no room or that the descriptor refused (disk full, reader gone).
  uint64_t dropped() const;

  // Writes what is waiting for at most `wait`, then gives up on the rest. Later lines are dropped.
  void Close(Milliseconds wait);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace inferd
