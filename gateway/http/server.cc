#include "gateway/http/server.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

#include "absl/time/clock.h"

namespace inferd::gateway {
namespace {

using std::chrono::steady_clock;

// How long accepting rests after an error such as "too many open files".
constexpr auto kAcceptRest = std::chrono::milliseconds(50);

bool EndsListener(int error_number) {
  return error_number == EBADF || error_number == EINVAL || error_number == ENOTSOCK || error_number == EOPNOTSUPP;
}

}  // namespace

struct HttpServer::Listener {
  Listener(const Executor& executor, UniqueFd fd) : descriptor(executor, fd.Release()), resume(executor) {}
  boost::asio::posix::stream_descriptor descriptor;
  Signal resume;
};

HttpServer::HttpServer(IoPool& pool, Application& application, HttpOptions options)
    : pool_(pool), application_(application), options_(options), connections_(pool.size()) {}

HttpServer::~HttpServer() = default;

int HttpServer::open_connections() const {
  absl::MutexLock lock(&mutex_);
  return open_;
}

void HttpServer::Listen(UniqueFd fd) {
  // Another process may share the socket and be faster: accept() must not wait then.
  fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
  auto listener = std::make_shared<Listener>(pool_.At(0), std::move(fd));
  listeners_.push_back(listener);
  boost::asio::co_spawn(
      pool_.At(0), [this, listener]() -> Task<void> { co_await AcceptUntilStopped(listener); }, boost::asio::detached);
}

Task<void> HttpServer::AcceptUntilStopped(std::shared_ptr<Listener> listener) {
  while (!draining_) {
    if (open_connections() >= static_cast<int>(options_.max_connections)) {
      // A closing connection wakes us; the deadline is for the case that its wake-up came before we waited.
      co_await listener->resume.Wait(steady_clock::now() + kAcceptRest);
      continue;
    }
    auto [wait_error] = co_await listener->descriptor.async_wait(
        boost::asio::posix::stream_descriptor::wait_read, boost::asio::as_tuple(boost::asio::use_awaitable));
    if (wait_error || draining_) break;
    sockaddr_storage peer;
    socklen_t length = sizeof peer;
    int fd = accept4(listener->descriptor.native_handle(), reinterpret_cast<sockaddr*>(&peer), &length,
                     SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
      Serve(fd, peer.ss_family);
    } else if (EndsListener(errno)) {
      break;
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      co_await listener->resume.Wait(steady_clock::now() + kAcceptRest);
    }
  }
}

void HttpServer::Serve(int fd, int family) {
  Executor executor = pool_.Next();
  StreamSocket::Socket raw(executor);
  boost::system::error_code error;
  raw.assign(boost::asio::generic::stream_protocol(family, 0), fd, error);
  if (error) {
    close(fd);
    return;
  }
  {
    absl::MutexLock lock(&mutex_);
    ++open_;
  }
  auto socket = std::make_shared<StreamSocket>(std::move(raw), options_.write_stall);
  boost::asio::co_spawn(
      executor, [this, socket]() -> Task<void> { co_await ServeConnection(socket); },
      [this](std::exception_ptr) {
        absl::MutexLock lock(&mutex_);
        --open_;
      });
}

Task<void> HttpServer::ServeConnection(std::shared_ptr<StreamSocket> socket) {
  socket->Start();
  Connection connection(socket, application_, options_, draining_);
  auto& table = connections_[pool_.IndexOfThisThread()];
  table.emplace(&connection, socket);
  co_await connection.Serve();
  table.erase(&connection);
}

void HttpServer::CloseIdle(size_t loop) {
  for (auto& [connection, socket] : connections_[loop]) {
    if (connection->idle()) socket->Close();
  }
}

bool HttpServer::Drain(TimePoint deadline) {
  draining_ = true;
  boost::asio::post(pool_.At(0), [listeners = listeners_] {
    for (const auto& listener : listeners) {
      boost::system::error_code ignored;
      listener->descriptor.close(ignored);
      listener->resume.Notify();
    }
  });
  for (size_t loop = 0; loop < pool_.size(); ++loop) {
    boost::asio::post(pool_.At(loop), [this, loop] { CloseIdle(loop); });
  }
  absl::Duration left = absl::FromChrono(deadline - steady_clock::now());
  absl::MutexLock lock(&mutex_);
  auto none_open = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return open_ == 0; };
  return mutex_.AwaitWithTimeout(absl::Condition(&none_open), left);
}

}  // namespace inferd::gateway
