#include "gateway/async/io_pool.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

namespace inferd::gateway {

struct IoPool::Loop {
  boost::asio::io_context context{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{context.get_executor()};
  std::thread thread;
};

IoPool::IoPool(int threads) {
  for (int i = 0; i < threads; ++i) loops_.push_back(std::make_unique<Loop>());
  for (auto& loop : loops_) loop->thread = std::thread([context = &loop->context] { context->run(); });
}

IoPool::~IoPool() { Stop(); }

Executor IoPool::Next() { return At(next_.fetch_add(1) % loops_.size()); }

Executor IoPool::At(size_t index) { return loops_[index]->context.get_executor(); }

size_t IoPool::IndexOfThisThread() const {
  for (size_t i = 0; i < loops_.size(); ++i) {
    if (loops_[i]->context.get_executor().running_in_this_thread()) return i;
  }
  return loops_.size();
}

void IoPool::Stop() {
  for (auto& loop : loops_) loop->context.stop();
  for (auto& loop : loops_) {
    if (loop->thread.joinable()) loop->thread.join();
  }
}

}  // namespace inferd::gateway
