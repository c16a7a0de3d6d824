// Looks every few seconds whether the keys file changed.
//
//   KeysRefresher refresher(pool.At(0), access);
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>

#include "gateway/async/task.h"

namespace inferd::gateway {

class Access;

class KeysRefresher {
 public:
  KeysRefresher(const Executor& executor, Access& access);

  static constexpr std::chrono::seconds kInterval{2};

 private:
  void Schedule();

  Access& access_;
  boost::asio::steady_timer timer_;
};

}  // namespace inferd::gateway
