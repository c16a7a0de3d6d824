// The gateway's gRPC port: inferd.v1.Inference over whatever workers serve, grpc.health.v1 and reflection. Connections
// are accepted by us, because gRPC cannot take over an inherited listening socket.
//
//   PublicServer server(pool, serving, access, {.max_message_bytes = 10 << 20});
//   server.Listen(std::move(listening_fd), http_server.limit());
//   bool drained = server.Drain(deadline);
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "config/base/unique_fd.h"
#include "gateway/async/signal.h"

namespace inferd::gateway {

class Access;
class ConnectionLimit;
class IoPool;
struct Serving;

struct PublicServerOptions {
  size_t max_message_bytes = 10 << 20;
  // A connection without a call is closed after this.
  std::chrono::milliseconds idle_timeout{120'000};
};

class PublicServer {
 public:
  PublicServer(IoPool& pool, const Serving& serving, Access& access, PublicServerOptions options);
  ~PublicServer();

  // Accepts while `limit` has room; it must outlive the pool's threads.
  void Listen(UniqueFd listener, ConnectionLimit& limit);
  // The health service answers SERVING under this name, too.
  void SayServing(const std::string& health_name);
  // Health says NOT_SERVING; waits until no call runs.
  void AwaitNoCall(TimePoint deadline);
  // Health says NOT_SERVING, new calls are refused, running ones go on to their end or the deadline. True if all ended
  // in time.
  bool Drain(TimePoint deadline);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace inferd::gateway
