#include "gateway/testing/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdlib>

#include "absl/strings/ascii.h"

namespace inferd::gateway {
namespace {

constexpr int kPatienceMilliseconds = 20'000;

}  // namespace

RawClient::RawClient(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  if (connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd_.Reset();
}

bool RawClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool RawClient::ReadMore() {
  pollfd ready{fd_.get(), POLLIN, 0};
  if (poll(&ready, 1, kPatienceMilliseconds) <= 0) return false;
  char bytes[65536];
  ssize_t received = recv(fd_.get(), bytes, sizeof bytes, 0);
  if (received <= 0) return false;
  buffer_.append(bytes, static_cast<size_t>(received));
  return true;
}

bool RawClient::IsClosed() {
  pollfd ready{fd_.get(), POLLIN, 0};
  if (!buffer_.empty() || poll(&ready, 1, kPatienceMilliseconds) <= 0) return false;
  char byte;
  return recv(fd_.get(), &byte, 1, 0) <= 0;
}

void RawClient::CloseSendingSide() { shutdown(fd_.get(), SHUT_WR); }

RawClient::Reply RawClient::ReadReply(bool head) {
  Reply reply;
  size_t end;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (!ReadMore()) return reply;
  }
  std::string text = buffer_.substr(0, end + 2);
  buffer_.erase(0, end + 4);
  int status = std::atoi(text.substr(text.find(' ')).c_str());
  for (size_t line = text.find("\r\n") + 2; line < text.size(); line = text.find("\r\n", line) + 2) {
    size_t colon = text.find(':', line);
    std::string name = text.substr(line, colon - line);
    for (char& c : name) c = absl::ascii_tolower(c);
    reply.headers[name] = text.substr(colon + 2, text.find("\r\n", line) - colon - 2);
  }
  if (status == 100 || status == 204 || head) {
    reply.status = status;
    return reply;
  }
  if (reply.headers.contains("content-length")) {
    size_t length = std::strtoul(reply.headers["content-length"].c_str(), nullptr, 10);
    while (buffer_.size() < length) {
      if (!ReadMore()) return reply;
    }
    reply.body = buffer_.substr(0, length);
    buffer_.erase(0, length);
  } else if (reply.headers.contains("transfer-encoding")) {
    for (size_t size = 1; size > 0;) {
      size_t line;
      while ((line = buffer_.find("\r\n")) == std::string::npos) {
        if (!ReadMore()) return reply;
      }
      size = std::strtoul(buffer_.c_str(), nullptr, 16);
      while (buffer_.size() < line + 2 + size + 2) {
        if (!ReadMore()) return reply;
      }
      reply.body.append(buffer_, line + 2, size);
      buffer_.erase(0, line + 2 + size + 2);
    }
  } else {
    while (ReadMore()) {
    }
    reply.body = std::exchange(buffer_, "");
  }
  reply.status = status;
  return reply;
}

}  // namespace inferd::gateway
