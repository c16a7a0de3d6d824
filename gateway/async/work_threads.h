// Threads for work that would hold up a loop of the IoPool: a coroutine waits there until a function has run here.
//
//   WorkThreads threads(1);
//   auto result = co_await RunOn(threads.executor(), [&] { return Parse(large); });   // and goes on where it was
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <type_traits>
#include <utility>

#include "gateway/async/task.h"

namespace boost::asio {
class thread_pool;
}

namespace inferd::gateway {

class WorkThreads {
 public:
  explicit WorkThreads(int threads);
  // Waits for the function that runs, and drops those that wait.
  ~WorkThreads();
  WorkThreads(const WorkThreads&) = delete;
  WorkThreads& operator=(const WorkThreads&) = delete;

  Executor executor();

 private:
  std::unique_ptr<boost::asio::thread_pool> pool_;
};

// What `work` returns or throws. What it refers to must live until the coroutine goes on.
template <typename Work>
Task<std::invoke_result_t<Work>> RunOn(Executor threads, Work work) {
  using Result = std::invoke_result_t<Work>;
  auto run = [](Work inner) -> Task<Result> { co_return inner(); };
  Task<Result> task = run(std::move(work));
  co_return co_await boost::asio::co_spawn(threads, std::move(task), boost::asio::use_awaitable);
}

}  // namespace inferd::gateway
