// A fixed set of threads with one event loop each. Whatever starts on a loop stays on it, so connections need no locks.
//
//   IoPool pool(2);
//   boost::asio::co_spawn(pool.Next(), Serve(), boost::asio::detached);
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "gateway/async/task.h"

namespace boost::asio {
class io_context;
}

namespace inferd::gateway {

class IoPool {
 public:
  explicit IoPool(int threads);
  // Stops.
  ~IoPool();
  IoPool(const IoPool&) = delete;
  IoPool& operator=(const IoPool&) = delete;

  // The loops in turn.
  Executor Next();
  Executor At(size_t index);
  size_t size() const { return loops_.size(); }
  // Index of the loop that runs on the calling thread, size() on any other thread.
  size_t IndexOfThisThread() const;

  // Ends all loops, dropping what they had not run, and joins the threads. Idempotent.
  void Stop();

 private:
  struct Loop;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::atomic<size_t> next_{0};
};

}  // namespace inferd::gateway
