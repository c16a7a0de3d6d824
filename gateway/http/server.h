// Accepts connections on listening sockets and serves them until drained.
//
//   HttpServer server(pool, application, options);
//   server.Listen(std::move(listening_fd));
//   ...
//   server.AwaitNoRequest(deadline);
//   server.Drain(deadline);          // no new connection, idle ones closed, running requests finished
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "config/base/unique_fd.h"
#include "gateway/async/io_pool.h"
#include "gateway/http/acceptor.h"
#include "gateway/http/connection.h"
#include "gateway/http/connection_limit.h"

namespace inferd::gateway {

class HttpServer {
 public:
  HttpServer(IoPool& pool, Application& application, HttpOptions options);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Serves what connects to `listener`, a listening stream socket, while fewer than max_connections are open.
  void Listen(UniqueFd listener);

  // Stops accepting, closes idle connections after `linger`, lets the others finish their request. What arrives until
  // then is answered as the last request of its connection. True if all ended in time. Not to be called on a thread of
  // the pool.
  bool Drain(TimePoint deadline, std::chrono::milliseconds linger = {});

  // Waits until no request runs; those that the application refuses by their head do not count. Not to be called on a
  // thread of the pool.
  void AwaitNoRequest(TimePoint deadline) { shared_.requests.WaitForNone(deadline); }

  int open_connections() const { return limit_.open(); }
  // To be shared with other ports.
  ConnectionLimit& limit() { return limit_; }

 private:
  void Serve(UniqueFd connection);
  Task<void> ServeConnection(std::shared_ptr<StreamSocket> socket);
  void CloseIdle(size_t loop);

  IoPool& pool_;
  Application& application_;
  const HttpOptions options_;
  ConnectionsShared shared_;
  ConnectionLimit limit_;
  std::vector<std::shared_ptr<Acceptor>> acceptors_;
  // One table for each loop of the pool, touched on that loop's thread alone.
  std::vector<std::unordered_map<Connection*, std::shared_ptr<StreamSocket>>> connections_;
};

}  // namespace inferd::gateway
