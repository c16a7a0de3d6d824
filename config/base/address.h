// Where a service listens: "127.0.0.1:8080", "[::1]:8080", "0.0.0.0:0" or "unix:/run/inferd/admin.sock".
//
//   ASSIGN_OR_RETURN(Address address, ParseAddress("127.0.0.1:8080"));
//   ASSIGN_OR_RETURN(UniqueFd fd, Listen(address));
//   LogInfo("listening", {{"http", BoundAddress(fd.get()).ToString()}});      // port 0 became a real one
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "config/base/unique_fd.h"

namespace inferd {

struct Address {
  // Numeric IPv4 or IPv6 address without brackets; empty for a unix socket.
  std::string host;
  uint16_t port = 0;
  // Absolute path of a unix socket; empty for TCP.
  std::string path;

  bool is_unix() const { return !path.empty(); }
  // In the form that ParseAddress reads; also a gRPC target.
  std::string ToString() const;
  // The address at which this host itself reaches a listener on it: 0.0.0.0 becomes 127.0.0.1, [::] becomes [::1].
  Address Local() const;
  bool IsLoopback() const;

  friend bool operator==(const Address&, const Address&) = default;
};

// INVALID_ARGUMENT for anything else than a numeric host (or "localhost") with a port, or an absolute path of at most
// 107 bytes after "unix:".
absl::StatusOr<Address> ParseAddress(std::string_view text);

// A listening stream socket, non-blocking and closed on exec. A unix socket is made with mode 0600; a file at its path
// that no process listens on is replaced.
//   ALREADY_EXISTS  another process listens there
absl::StatusOr<UniqueFd> Listen(const Address& address);

// A connected unix stream socket, non-blocking, closed on exec; NOT_FOUND or UNAVAILABLE if nobody listens there.
absl::StatusOr<UniqueFd> ConnectUnix(const std::string& path);

// What a socket is bound to, with the port that the system chose for 0.
Address BoundAddress(int fd);

}  // namespace inferd
