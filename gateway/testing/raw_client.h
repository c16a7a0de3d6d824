// A blocking TCP client that sends exactly the bytes it is given.
//
//   RawClient client(port);
//   client.Send("GET / HTTP/1.1\r\n\r\n");
//   RawClient::Reply reply = client.ReadReply();
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "config/base/unique_fd.h"

namespace inferd::gateway {

class RawClient {
 public:
  struct Reply {
    // 0: the connection ended before a whole reply.
    int status = 0;
    // Names in lower case.
    std::map<std::string, std::string> headers;
    std::string body;
  };

  explicit RawClient(int port);

  // False if the connection broke.
  bool Send(std::string_view bytes);
  // One reply by its Content-Length or chunks (decoded), to the end of the connection otherwise. `head`: without body.
  Reply ReadReply(bool head = false);
  // Whether the server closes within a second or so, without sending anything first.
  bool IsClosed();
  void Close() { fd_.Reset(); }
  // What the server sends can still be read.
  void CloseSendingSide();
  int fd() const { return fd_.get(); }

 private:
  bool ReadMore();

  UniqueFd fd_;
  std::string buffer_;
};

}  // namespace inferd::gateway
