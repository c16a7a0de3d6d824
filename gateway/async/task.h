// Coroutines of the gateway: every function that may wait returns a Task and runs on one thread of the IoPool.
//
//   Task<bool> Answer(Exchange& exchange) {
//     bool sent = co_await exchange.Respond(std::move(response));
//     co_return sent;
//   }
//
// GCC 12 destroys a braced temporary within a co_await expression twice (bug 104051): name it first.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace inferd::gateway {

template <typename T>
using Task = boost::asio::awaitable<T>;
using Executor = boost::asio::any_io_executor;

}  // namespace inferd::gateway
