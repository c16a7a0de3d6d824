#include "gateway/http/server.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

namespace inferd::gateway {

HttpServer::HttpServer(IoPool& pool, Application& application, HttpOptions options)
    : pool_(pool),
      application_(application),
      options_(options),
      limit_(options.max_connections),
      connections_(pool.size()) {}

HttpServer::~HttpServer() = default;

void HttpServer::Listen(UniqueFd listener) {
  acceptors_.push_back(Acceptor::Start(
      pool_.At(0), std::move(listener), [this] { return limit_.HasRoom(); },
      [this](UniqueFd connection) { Serve(std::move(connection)); }));
}

void HttpServer::Serve(UniqueFd connection) {
  Executor executor = pool_.Next();
  StreamSocket::Socket raw(executor);
  int family = AF_INET;
  socklen_t length = sizeof family;
  getsockopt(connection.get(), SOL_SOCKET, SO_DOMAIN, &family, &length);
  boost::system::error_code error;
  raw.assign(boost::asio::generic::stream_protocol(family, 0), connection.get(), error);
  if (error) return;
  connection.Release();
  limit_.Opened();
  auto socket = std::make_shared<StreamSocket>(std::move(raw), options_.write_stall);
  boost::asio::co_spawn(
      executor, [this, socket]() -> Task<void> { co_await ServeConnection(socket); },
      [this](std::exception_ptr) { limit_.Closed(); });
}

Task<void> HttpServer::ServeConnection(std::shared_ptr<StreamSocket> socket) {
  socket->Start();
  Connection connection(socket, application_, options_, shared_);
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

bool HttpServer::Drain(TimePoint deadline, std::chrono::milliseconds linger) {
  shared_.draining = true;
  for (const auto& acceptor : acceptors_) acceptor->Stop();
  if (linger.count() > 0) limit_.AwaitNone(std::min(deadline, std::chrono::steady_clock::now() + linger));
  for (size_t loop = 0; loop < pool_.size(); ++loop) {
    boost::asio::post(pool_.At(loop), [this, loop] { CloseIdle(loop); });
  }
  return limit_.AwaitNone(deadline);
}

}  // namespace inferd::gateway
