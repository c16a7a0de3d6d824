// Any bytes on a connection: heads, paths, bodies with a length and in chunks, one request after the other. What
// reaches the application has a canonical path and a body within the limit, and means the same when it is sent once
// more in the plainest form; nothing is answered more often than it is asked.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/http/connection.h"

namespace {

using namespace inferd::gateway;

struct Seen {
  std::string method, path, body;
  friend bool operator==(const Seen&, const Seen&) = default;
};

constexpr size_t kMaxBodyBytes = 4096;

// No empty segments and none that are "." or "..", and nothing that a log or a lower layer could take for something
// else.
bool IsCanonical(std::string_view path) {
  if (path == "*" || path == "/") return true;
  if (!path.starts_with('/')) return false;
  for (size_t begin = 1; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view segment = path.substr(begin, end - begin);
    const bool last_empty = segment.empty() && end == path.size();
    if ((segment.empty() && !last_empty) || segment == "." || segment == "..") return false;
    begin = end + 1;
  }
  return std::none_of(path.begin(), path.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f || c == '\\'; });
}

class Recorder : public Application {
 public:
  std::optional<Response> Refuse(Exchange& exchange) override {
    if (!IsCanonical(exchange.request.path)) std::abort();
    if (exchange.request.path == "/refused") return Response{.status = 403};
    return std::nullopt;
  }
  Task<void> Handle(Exchange& exchange) override {
    if (exchange.request.body.size() > kMaxBodyBytes) std::abort();
    seen.push_back({exchange.request.method, exchange.request.path, exchange.request.body});
    co_await exchange.Respond({.status = 200, .body = "ok"});
  }
  Response MakeError(int status, std::string_view message, Exchange&) override {
    return {.status = status, .body = std::string(message)};
  }
  void Finished(const Exchange&) override { ++finished; }

  std::vector<Seen> seen;
  size_t finished = 0;
};

// What the application sees of the bytes.
std::vector<Seen> Serve(std::string_view bytes) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) std::abort();
  if (write(ends[1], bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  shutdown(ends[1], SHUT_WR);
  Recorder recorder;
  const HttpOptions options{.max_body_bytes = kMaxBodyBytes, .max_head_bytes = 8192};
  ConnectionsShared shared;
  {
    boost::asio::io_context context;
    auto socket = std::make_shared<StreamSocket>(
        StreamSocket::Socket(context, boost::asio::generic::stream_protocol(AF_UNIX, 0), ends[0]), options.write_stall);
    socket->Start();
    Connection connection(socket, recorder, options, shared);
    boost::asio::co_spawn(context, connection.Serve(), boost::asio::detached);
    context.run();
  }
  close(ends[1]);
  if (recorder.seen.size() > recorder.finished) std::abort();
  return recorder.seen;
}

std::string Plain(const Seen& request) {
  std::string target;
  for (const char c : request.path) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    const auto byte = static_cast<uint8_t>(c);
    if (byte > 0x20 && byte < 0x7f && c != '?' && c != '#') {
      target += c;
    } else {
      target.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
    }
  }
  return request.method + " " + target +
         " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(request.body.size()) + "\r\n\r\n" + request.body;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 60'000) return 0;  // what a socket takes without a reader
  for (const Seen& request : Serve({reinterpret_cast<const char*>(data), size})) {
    const std::vector<Seen> again = Serve(Plain(request));
    if (again.size() != 1 || again.front() != request) std::abort();
  }
  return 0;
}
