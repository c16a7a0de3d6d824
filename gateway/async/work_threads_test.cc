// Exceptions pass through the coroutines of the library.
#include "gateway/async/work_threads.h"

#include <gtest/gtest.h>

#include <boost/asio/detached.hpp>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>

#include "gateway/async/io_pool.h"

namespace inferd::gateway {
namespace {

TEST(WorkThreads, RunAFunctionAndGoOnWhereTheCoroutineWas) {
  IoPool loops(1);
  WorkThreads threads(1);
  std::promise<std::string> done;
  auto coroutine = [&]() -> Task<void> {
    const std::thread::id loop = std::this_thread::get_id();
    std::thread::id worker;
    auto text = co_await RunOn(threads.executor(), [&] {
      worker = std::this_thread::get_id();
      return std::make_unique<std::string>("made");  // may only be moved
    });
    done.set_value(worker != loop && std::this_thread::get_id() == loop ? *text : "on the wrong thread");
  };
  boost::asio::co_spawn(loops.At(0), coroutine(), boost::asio::detached);
  EXPECT_EQ(done.get_future().get(), "made");
}

TEST(WorkThreads, GiveExceptionsOn) {
  IoPool loops(1);
  WorkThreads threads(1);
  std::promise<std::string> done;
  auto coroutine = [&]() -> Task<void> {
    try {
      co_await RunOn(threads.executor(), []() -> int { throw std::runtime_error("no memory"); });
      done.set_value("nothing was thrown");
    } catch (const std::runtime_error& error) {
      done.set_value(error.what());
    }
  };
  boost::asio::co_spawn(loops.At(0), coroutine(), boost::asio::detached);
  EXPECT_EQ(done.get_future().get(), "no memory");
}

// The loop serves others meanwhile.
TEST(WorkThreads, LeaveTheLoopFree) {
  IoPool loops(1);
  WorkThreads threads(1);
  std::promise<void> release, other, end;
  auto waits = [&]() -> Task<void> {
    co_await RunOn(threads.executor(), [&] {
      release.get_future().wait();
      return 0;
    });
    end.set_value();
  };
  auto passes = [&]() -> Task<void> {
    other.set_value();
    co_return;
  };
  boost::asio::co_spawn(loops.At(0), waits(), boost::asio::detached);
  boost::asio::co_spawn(loops.At(0), passes(), boost::asio::detached);
  other.get_future().wait();
  release.set_value();
  end.get_future().wait();
}

}  // namespace
}  // namespace inferd::gateway
