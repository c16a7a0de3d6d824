#include "gateway/http/acceptor.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <utility>

namespace inferd::gateway {
namespace {

// How long accepting rests where there is no room, or after an error such as "too many open files".
constexpr auto kRest = std::chrono::milliseconds(20);

bool EndsListener(int error_number) {
  return error_number == EBADF || error_number == EINVAL || error_number == ENOTSOCK || error_number == EOPNOTSUPP;
}

bool IsShortage(int error_number) {
  return error_number == EMFILE || error_number == ENFILE || error_number == ENOBUFS || error_number == ENOMEM;
}

}  // namespace

Acceptor::Acceptor(const Executor& executor, UniqueFd listener, std::function<bool()> has_room,
                   std::function<void(UniqueFd)> on_connection)
    : listener_(executor, listener.Release()),
      stopped_(executor),
      has_room_(std::move(has_room)),
      on_connection_(std::move(on_connection)) {}

std::shared_ptr<Acceptor> Acceptor::Start(const Executor& executor, UniqueFd listener, std::function<bool()> has_room,
                                          std::function<void(UniqueFd)> on_connection) {
  // Another process may share the socket and be faster: accept() must not wait then.
  fcntl(listener.get(), F_SETFL, fcntl(listener.get(), F_GETFL) | O_NONBLOCK);
  auto acceptor =
      std::make_shared<Acceptor>(executor, std::move(listener), std::move(has_room), std::move(on_connection));
  boost::asio::co_spawn(
      executor, [acceptor]() -> Task<void> { co_await acceptor->AcceptUntilStopped(); }, boost::asio::detached);
  return acceptor;
}

void Acceptor::Stop() {
  boost::asio::post(listener_.get_executor(), [self = shared_from_this()] {
    boost::system::error_code ignored;
    self->stopping_ = true;
    self->listener_.close(ignored);
    self->stopped_.Notify();
  });
}

Task<void> Acceptor::AcceptUntilStopped() {
  while (!stopping_) {
    if (!has_room_()) {
      co_await stopped_.Wait(std::chrono::steady_clock::now() + kRest);
      continue;
    }
    auto [wait_error] = co_await listener_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                                                      boost::asio::as_tuple(boost::asio::use_awaitable));
    if (wait_error || stopping_) break;
    UniqueFd connection(accept4(listener_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection) {
      on_connection_(std::move(connection));
    } else if (EndsListener(errno)) {
      break;
    } else if (IsShortage(errno)) {
      co_await stopped_.Wait(std::chrono::steady_clock::now() + kRest);
    }
  }
}

}  // namespace inferd::gateway
