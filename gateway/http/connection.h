// One client connection: requests one after the other in their order (pipelined ones wait in the input buffer), each
// checked, parsed, handled and answered before the next is looked at.
//
//   co_await Connection(socket, application, options, shared).Serve();
#pragma once

#include <atomic>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <optional>
#include <string>

#include "config/base/open_calls.h"
#include "gateway/http/application.h"
#include "gateway/http/stream_socket.h"
#include "gateway/limits/byte_budget.h"

namespace inferd::gateway {

struct HttpOptions {
  size_t max_body_bytes = 10 * 1024 * 1024;
  size_t max_head_bytes = 16 * 1024;
  // From the first byte of a head to its end.
  std::chrono::milliseconds head_timeout{10'000};
  // For a body: this long, and a second more for each 16 KiB that arrived.
  std::chrono::milliseconds body_timeout{10'000};
  // Between requests.
  std::chrono::milliseconds idle_timeout{75'000};
  std::chrono::milliseconds write_stall{30'000};
  size_t max_connections = 16'384;
  // Of the bodies of all requests that are being read or answered; null: no bound.
  ByteBudget* bodies = nullptr;
};

// What all connections of a server share.
struct ConnectionsShared {
  // Each connection answers one request more, if it comes soon, and says that it is the last.
  std::atomic<bool> draining{false};
  // Requests that were not refused by their head.
  OpenCalls requests;
};

class Connection {
 public:
  Connection(std::shared_ptr<StreamSocket> socket, Application& application, const HttpOptions& options,
             ConnectionsShared& shared);

  Task<void> Serve();
  // Whether no request is being read or answered.
  bool idle() const { return idle_; }

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  enum class BodyResult { kComplete, kClientGone, kRefused };

  // Waits for a head; nothing when the connection is to end (closed, idle for too long, refused).
  Task<std::optional<std::string>> ReadHead();
  Task<void> RefuseHead(int status, std::string_view message);
  // One request from its head on. False: the connection ends.
  Task<bool> ServeRequest(std::string_view head);
  // One that its head does not refuse.
  Task<void> TakeAndHandle(Exchange& exchange, Parser& parser);
  Task<BodyResult> ReadBody(Exchange& exchange, Parser& parser, ByteShare& share);
  Task<void> SkipBody(Exchange& exchange, Parser& parser);
  Task<void> Answer(Exchange& exchange, int status, std::string_view message);

  std::shared_ptr<StreamSocket> socket_;
  Application& application_;
  const HttpOptions& options_;
  ConnectionsShared& shared_;
  bool idle_ = true;
};

}  // namespace inferd::gateway
