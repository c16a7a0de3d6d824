#include "config/base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "config/base/status.h"

namespace inferd {
namespace {

constexpr int kBacklog = 1024;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

SocketAddress ToSocketAddress(const Address& address) {
  SocketAddress out;
  if (address.is_unix()) {
    auto* unix_address = reinterpret_cast<sockaddr_un*>(&out.storage);
    unix_address->sun_family = AF_UNIX;
    CHECK(address.path.size() < sizeof unix_address->sun_path);
    std::memcpy(unix_address->sun_path, address.path.data(), address.path.size());
    out.length = sizeof(sockaddr_un);
  } else if (auto* v4 = reinterpret_cast<sockaddr_in*>(&out.storage);
             inet_pton(AF_INET, address.host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(address.port);
    out.length = sizeof(sockaddr_in);
  } else {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&out.storage);
    CHECK(inet_pton(AF_INET6, address.host.c_str(), &v6->sin6_addr) == 1);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(address.port);
    out.length = sizeof(sockaddr_in6);
  }
  return out;
}

bool IsNumericHost(const std::string& host) {
  in6_addr buffer;
  return inet_pton(AF_INET, host.c_str(), &buffer) == 1 || inet_pton(AF_INET6, host.c_str(), &buffer) == 1;
}

absl::Status RemoveStaleSocket(const std::string& path) {
  struct stat file;
  if (lstat(path.c_str(), &file) != 0) return absl::OkStatus();
  if (!S_ISSOCK(file.st_mode)) return AlreadyExists("{}: exists and is not a socket", path);
  if (ConnectUnix(path).ok()) return AlreadyExists("{}: another process listens there", path);
  if (unlink(path.c_str()) != 0) return FromErrno(errno, path);
  return absl::OkStatus();
}

absl::Status ListenError(int error, const Address& address) {
  if (error == EADDRINUSE) return AlreadyExists("{}: address in use by another process", address.ToString());
  return FromErrno(error, "listen on " + address.ToString());
}

}  // namespace

std::string Address::ToString() const {
  if (is_unix()) return "unix:" + path;
  const bool v6 = host.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Address Address::Local() const {
  Address out = *this;
  if (host == "0.0.0.0") out.host = "127.0.0.1";
  if (host == "::") out.host = "::1";
  return out;
}

bool Address::IsLoopback() const { return is_unix() || host.starts_with("127.") || host == "::1"; }

absl::StatusOr<Address> ParseAddress(std::string_view text) {
  constexpr std::string_view kUnix = "unix:";
  Address address;
  if (text.starts_with(kUnix)) {
    address.path = text.substr(kUnix.size());
    if (!address.path.starts_with('/')) return InvalidArgument("\"{}\": expected an absolute path after unix:", text);
    if (address.path.size() >= sizeof(sockaddr_un::sun_path)) {
      return InvalidArgument("\"{}\": path has {} bytes, a unix socket's has at most {}", text, address.path.size(),
                             sizeof(sockaddr_un::sun_path) - 1);
    }
    return address;
  }
  const size_t colon = text.rfind(':');
  if (colon == text.npos) return InvalidArgument("\"{}\": expected host:port or unix:/path", text);
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  address.host = host == "localhost" ? "127.0.0.1" : host;
  if (!IsNumericHost(address.host)) {
    return InvalidArgument("\"{}\": host \"{}\" is not a numeric address such as 127.0.0.1 or [::1]", text, host);
  }
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size()) {
    return InvalidArgument("\"{}\": port \"{}\" is not a number of 0..65535", text, port);
  }
  return address;
}

absl::StatusOr<UniqueFd> Listen(const Address& address) {
  if (address.is_unix()) RETURN_IF_ERROR(RemoveStaleSocket(address.path));
  SocketAddress socket_address = ToSocketAddress(address);
  UniqueFd fd(socket(socket_address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return FromErrno(errno, "socket");
  const int on = 1;
  if (!address.is_unix()) {
    if (setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) return FromErrno(errno, "SO_REUSEADDR");
  } else if (fchmod(fd.get(), 0600) != 0) {  // before bind: the file is created with the socket's mode
    return FromErrno(errno, address.path);
  }
  if (bind(fd.get(), socket_address.get(), socket_address.length) != 0) return ListenError(errno, address);
  if (listen(fd.get(), kBacklog) != 0) return ListenError(errno, address);
  return fd;
}

absl::StatusOr<UniqueFd> ConnectUnix(const std::string& path) {
  SocketAddress address = ToSocketAddress(Address{.path = path});
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return FromErrno(errno, "socket");
  if (connect(fd.get(), address.get(), address.length) == 0) return fd;
  if (errno == ENOENT) return NotFound("{}: no such socket", path);
  return Unavailable("{}: nobody accepts connections there ({})", path, std::strerror(errno));
}

Address BoundAddress(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  Address address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return address;
  char host[INET6_ADDRSTRLEN] = "";
  if (storage.ss_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&storage);
    address.host = inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
    address.port = ntohs(v4->sin_port);
  } else if (storage.ss_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&storage);
    address.host = inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
    address.port = ntohs(v6->sin6_port);
  } else if (storage.ss_family == AF_UNIX) {
    address.path = reinterpret_cast<const sockaddr_un*>(&storage)->sun_path;
  }
  return address;
}

}  // namespace inferd
