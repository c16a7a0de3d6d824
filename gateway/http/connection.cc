// Exceptions that a library below a handler should not have thrown end here, as a 500.
#include "gateway/http/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <exception>

#include "absl/strings/ascii.h"
#include "gateway/http/canonical_path.h"
#include "gateway/http/head_check.h"
#include "gateway/serving/request_id.h"

namespace inferd::gateway {
namespace {

namespace http = boost::beast::http;
using std::chrono::steady_clock;

// For a client that was told to keep the connection and sends another request while the server drains.
constexpr std::chrono::milliseconds kLastRequestWait{1'000};
// A refused request's body up to this size is read and dropped, so that the connection lives on.
constexpr uint64_t kSkippableBodyBytes = 64 * 1024;
// Bytes of chunk framing that may come with a byte of content, and for an empty body.
constexpr uint64_t kFramingBytesPerByte = 8;
constexpr uint64_t kFramingBytes = 64 * 1024;
// For log and metrics alone: nobody is there to read an answer.
constexpr int kClientClosedRequest = 499;

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

Request MakeRequest(const http::request<http::string_body>& message, bool keep_alive, std::string path) {
  Request request;
  request.method = std::string(View(message.method_string()));
  request.path = std::move(path);
  request.query = std::string(QueryOf(View(message.target())));
  request.minor_version = message.version() == 10 ? 0 : 1;
  request.keep_alive = keep_alive;
  for (const auto& field : message) {
    std::string name(View(field.name_string()));
    for (char& c : name) c = absl::ascii_tolower(c);
    request.headers.emplace_back(std::move(name), std::string(View(field.value())));
  }
  return request;
}

}  // namespace

Connection::Connection(std::shared_ptr<StreamSocket> socket, Application& application, const HttpOptions& options,
                       ConnectionsShared& shared)
    : socket_(std::move(socket)), application_(application), options_(options), shared_(shared) {}

Task<void> Connection::Serve() {
  while (true) {
    idle_ = true;
    std::optional<std::string> head = co_await ReadHead();
    if (!head) break;
    bool keep_alive = co_await ServeRequest(*head);
    if (!keep_alive) break;
  }
  co_await socket_->CloseGently();
}

Task<std::optional<std::string>> Connection::ReadHead() {
  std::string& input = socket_->input();
  TimePoint deadline = steady_clock::now() +
                       (shared_.draining ? std::min(kLastRequestWait, options_.idle_timeout) : options_.idle_timeout);
  while (true) {
    // RFC 9112 section 2.2: an empty line before the request line is to be ignored.
    while (input.starts_with("\r\n")) input.erase(0, 2);
    socket_->Consumed();
    if (idle_ && !input.empty()) {
      idle_ = false;
      deadline = steady_clock::now() + options_.head_timeout;
    }
    size_t end = FindHeadEnd(input);
    std::string_view seen = std::string_view(input).substr(0, end == 0 ? input.size() : end);
    if (HasBareLineFeed(seen)) {
      co_await RefuseHead(400, "a header line ends without CR");
      co_return std::nullopt;
    }
    if (seen.size() > options_.max_head_bytes) {
      co_await RefuseHead(431, fmt::format("the request head is longer than {} bytes", options_.max_head_bytes));
      co_return std::nullopt;
    }
    if (end > 0) {
      std::string head = input.substr(0, end);
      input.erase(0, end);
      socket_->Consumed();
      co_return head;
    }
    bool more = co_await socket_->WaitForInput(deadline);
    if (!more && !idle_ && !socket_->input_ended()) co_await RefuseHead(408, "the request head did not arrive in time");
    if (!more) co_return std::nullopt;
  }
}

Task<void> Connection::RefuseHead(int status, std::string_view message) {
  Exchange exchange(*socket_, MakeRequestId(""));
  co_await Answer(exchange, status, message);
  application_.Finished(exchange);
}

Task<void> Connection::Answer(Exchange& exchange, int status, std::string_view message) {
  Response response = application_.MakeError(status, message, exchange);
  co_await exchange.Respond(std::move(response));
}

Task<bool> Connection::ServeRequest(std::string_view head) {
  if (std::optional<HeadProblem> problem = FindHeadProblem(head)) {
    co_await RefuseHead(problem->status, problem->message);
    co_return false;
  }
  Parser parser;
  parser.eager(true);
  parser.header_limit(options_.max_head_bytes + 1024);
  parser.body_limit(options_.max_body_bytes);
  boost::system::error_code error;
  parser.put(boost::asio::buffer(head.data(), head.size()), error);
  bool too_large = error == http::error::body_limit;
  if (!parser.is_header_done() && !too_large) {
    co_await RefuseHead(400, "malformed request head");
    co_return false;
  }
  std::optional<std::string> path = CanonicalPath(View(parser.get().target()));
  if (!path) {
    co_await RefuseHead(400, "malformed request target");
    co_return false;
  }

  Exchange exchange(*socket_, MakeRequestId(View(parser.get()["X-Request-Id"])));
  exchange.request = MakeRequest(parser.get(), parser.keep_alive(), *std::move(path));
  exchange.AllowKeepAlive(exchange.request.keep_alive && !shared_.draining);
  if (too_large) exchange.ForbidKeepAlive();
  if (std::optional<Response> refusal = application_.Refuse(exchange)) {
    if (!too_large) co_await SkipBody(exchange, parser);
    co_await exchange.Respond(*std::move(refusal));
  } else if (too_large) {
    co_await Answer(exchange, 413, fmt::format("the body is larger than {} bytes", options_.max_body_bytes));
  } else {
    shared_.requests.Enter();
    co_await TakeAndHandle(exchange, parser);
    shared_.requests.Leave();
  }
  exchange.OnClientGone(nullptr);
  application_.Finished(exchange);
  co_return exchange.keep_alive() && !exchange.client_gone();
}

Task<void> Connection::TakeAndHandle(Exchange& exchange, Parser& parser) {
  // Held until the answer is complete: what is made of a body is about as large.
  ByteShare share(options_.bodies);
  BodyResult body = co_await ReadBody(exchange, parser, share);
  if (body == BodyResult::kClientGone) {
    exchange.record.client_gone = true;
    exchange.record.status = kClientClosedRequest;
    exchange.record.error_code = "cancelled";
  }
  if (body != BodyResult::kComplete) co_return;
  exchange.request.body = std::move(parser.get().body());
  try {
    co_await application_.Handle(exchange);
    if (!exchange.answered()) exchange.record.reason = "the handler gave no answer";
  } catch (const std::exception& exception) {
    // The client learns no detail.
    exchange.record.reason = exception.what();
    exchange.ForbidKeepAlive();
  }
  if (exchange.answered()) co_return;
  exchange.ForbidKeepAlive();
  co_await Answer(exchange, 500, "internal error");
}

Task<Connection::BodyResult> Connection::ReadBody(Exchange& exchange, Parser& parser, ByteShare& share) {
  std::string& input = socket_->input();
  bool room = share.GrowTo(parser.content_length().value_or(0));
  // RFC 9110 section 10.1.1: a client of HTTP/1.0 cannot expect anything.
  const bool expects = exchange.request.minor_version > 0 && !exchange.request.Header("expect").empty();
  if (room && !parser.is_done() && expects && input.empty()) {
    if (!co_await socket_->WriteAll("HTTP/1.1 100 Continue\r\n\r\n")) co_return BodyResult::kClientGone;
  }
  TimePoint started = steady_clock::now();
  uint64_t received = 0;
  while (room && !parser.is_done()) {
    boost::system::error_code error;
    size_t taken = input.empty() ? 0 : parser.put(boost::asio::buffer(input), error);
    input.erase(0, taken);
    socket_->Consumed();
    received += taken;
    room = share.GrowTo(parser.get().body().size());
    bool full = error == http::error::need_more && input.size() >= StreamSocket::kMaxInputBytes;
    bool all_framing = received > kFramingBytes + kFramingBytesPerByte * (parser.get().body().size() + 1);
    if (error == http::error::body_limit || all_framing) {
      exchange.ForbidKeepAlive();
      co_await Answer(exchange, 413, fmt::format("the body is larger than {} bytes", options_.max_body_bytes));
      co_return BodyResult::kRefused;
    }
    if (full || (error && error != http::error::need_more)) {
      exchange.ForbidKeepAlive();
      co_await Answer(exchange, 400, "malformed chunked body");
      co_return BodyResult::kRefused;
    }
    if (!room || parser.is_done() || (taken > 0 && !input.empty() && !error)) continue;
    TimePoint deadline = started + options_.body_timeout + std::chrono::seconds(received / (16 * 1024));
    if (!co_await socket_->WaitForInput(deadline)) {
      exchange.ForbidKeepAlive();
      if (socket_->input_ended()) co_return BodyResult::kClientGone;
      co_await Answer(exchange, 408, "the request body did not arrive in time");
      co_return BodyResult::kRefused;
    }
  }
  if (!room) {
    exchange.ForbidKeepAlive();
    co_await Answer(exchange, 503, "too many request bodies are being held, try again later");
    co_return BodyResult::kRefused;
  }
  co_return BodyResult::kComplete;
}

Task<void> Connection::SkipBody(Exchange& exchange, Parser& parser) {
  if (parser.is_done()) co_return;
  // A client that expects "100 Continue" must not send its body after a final answer.
  auto length = parser.content_length();
  if (!length || *length > kSkippableBodyBytes || !exchange.request.Header("expect").empty()) {
    exchange.ForbidKeepAlive();
    co_return;
  }
  TimePoint deadline = steady_clock::now() + options_.body_timeout;
  uint64_t left = *length;
  std::string& input = socket_->input();
  while (left > 0) {
    size_t taken = std::min<uint64_t>(left, input.size());
    input.erase(0, taken);
    socket_->Consumed();
    left -= taken;
    if (left > 0 && !co_await socket_->WaitForInput(deadline)) break;
  }
  if (left > 0) exchange.ForbidKeepAlive();
}

}  // namespace inferd::gateway
