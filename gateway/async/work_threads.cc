#include "gateway/async/work_threads.h"

#include <boost/asio/thread_pool.hpp>

namespace inferd::gateway {

WorkThreads::WorkThreads(int threads)
    : pool_(std::make_unique<boost::asio::thread_pool>(static_cast<size_t>(threads))) {}

WorkThreads::~WorkThreads() {
  pool_->stop();
  pool_->join();
}

Executor WorkThreads::executor() { return pool_->get_executor(); }

}  // namespace inferd::gateway
