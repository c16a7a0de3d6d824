#include "gateway/async/signal.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace inferd::gateway {

void Signal::Notify() {
  notified_ = true;
  if (waiting_) timer_.cancel();
}

Task<bool> Signal::Wait(TimePoint deadline) {
  if (!notified_) {
    timer_.expires_at(deadline);
    waiting_ = true;
    co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    waiting_ = false;
  }
  bool notified = notified_;
  notified_ = false;
  co_return notified;
}

}  // namespace inferd::gateway
