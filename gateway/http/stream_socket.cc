#include "gateway/http/stream_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <utility>

namespace inferd::gateway {
namespace {

constexpr auto kLinger = std::chrono::seconds(2);
constexpr auto kTuple = boost::asio::as_tuple(boost::asio::use_awaitable);

}  // namespace

StreamSocket::StreamSocket(Socket socket, std::chrono::milliseconds write_stall)
    : socket_(std::move(socket)),
      write_stall_(write_stall),
      input_changed_(socket_.get_executor()),
      input_consumed_(socket_.get_executor()) {
  boost::system::error_code ignored;
  socket_.native_non_blocking(true, ignored);
  int one = 1;
  setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

std::string StreamSocket::PeerHost() const {
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  auto* address = reinterpret_cast<sockaddr*>(&peer);
  char host[NI_MAXHOST] = "";
  bool known = getpeername(const_cast<Socket&>(socket_).native_handle(), address, &length) == 0 &&
               peer.ss_family != AF_UNIX &&
               getnameinfo(address, length, host, sizeof host, nullptr, 0, NI_NUMERICHOST) == 0;
  return known ? host : "";
}

void StreamSocket::Start() {
  boost::asio::co_spawn(
      socket_.get_executor(), [self = shared_from_this()]() -> Task<void> { co_await self->ReadUntilEnd(); },
      boost::asio::detached);
}

Task<void> StreamSocket::ReadUntilEnd() {
  bool half_closed = false;
  while (!ended_ && !half_closed) {
    while (input_.size() >= kMaxInputBytes && !ended_) co_await input_consumed_.Wait(TimePoint::max());
    auto [wait_error] = co_await socket_.async_wait(Socket::wait_read, kTuple);
    if (wait_error || ended_) break;
    std::array<char, 16 * 1024> buffer;
    ssize_t received = recv(socket_.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (received < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (received < 0) break;
    half_closed = received == 0;
    if (!discard_input_) input_.append(buffer.data(), static_cast<size_t>(received));
    input_changed_.Notify();
  }
  if (half_closed) SetInputEnded();
  // What is left to learn is that the peer has gone altogether; until we write, nothing tells.
  if (half_closed && !ended_) co_await socket_.async_wait(Socket::wait_error, kTuple);
  SetEnded();
}

void StreamSocket::SetInputEnded() {
  if (std::exchange(input_ended_, true)) return;
  input_changed_.Notify();
  if (auto callback = std::exchange(on_input_ended_, nullptr)) callback();
}

void StreamSocket::SetEnded() {
  if (std::exchange(ended_, true)) return;
  on_input_ended_ = nullptr;
  SetInputEnded();
  input_changed_.Notify();
  input_consumed_.Notify();
  if (auto callback = std::exchange(on_ended_, nullptr)) callback();
}

void StreamSocket::Consumed() {
  if (input_.size() < kMaxInputBytes) input_consumed_.Notify();
}

Task<bool> StreamSocket::WaitForInput(TimePoint deadline) {
  size_t before = input_.size();
  while (input_.size() == before && !input_ended_) {
    if (!co_await input_changed_.Wait(deadline)) break;
  }
  co_return input_.size() > before;
}

void StreamSocket::OnEnded(std::function<void()> callback) {
  on_ended_ = std::move(callback);
  if (ended_ && on_ended_) std::exchange(on_ended_, nullptr)();
}

void StreamSocket::OnInputEnded(std::function<void()> callback) {
  on_input_ended_ = std::move(callback);
  if (input_ended_ && !ended_ && on_input_ended_) std::exchange(on_input_ended_, nullptr)();
}

void StreamSocket::TrySend(std::string_view bytes) {
  if (writing_ || !socket_.is_open()) return;
  const ssize_t sent = send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  const bool no_room = sent < 0 && (errno == EAGAIN || errno == EINTR);
  // A part of it would garble what comes next.
  if (!no_room && sent != static_cast<ssize_t>(bytes.size())) Close();
}

Task<bool> StreamSocket::WriteAll(std::string_view bytes) {
  writing_ = true;
  while (!bytes.empty() && socket_.is_open()) {
    ssize_t sent = send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) break;
    boost::asio::steady_timer stalled(socket_.get_executor(), write_stall_);
    stalled.async_wait([self = shared_from_this()](boost::system::error_code error) {
      if (!error) self->Close();
    });
    auto [wait_error] = co_await socket_.async_wait(Socket::wait_write, kTuple);
    if (wait_error) break;
  }
  writing_ = false;
  if (!bytes.empty()) Close();
  co_return bytes.empty();
}

Task<void> StreamSocket::CloseGently() {
  boost::system::error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  discard_input_ = true;
  input_.clear();
  Consumed();
  TimePoint deadline = std::chrono::steady_clock::now() + kLinger;
  while (!input_ended_ && co_await input_changed_.Wait(deadline)) {
  }
  Close();
}

void StreamSocket::Close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
  SetEnded();
}

}  // namespace inferd::gateway
