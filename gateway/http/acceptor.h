// Accepts connections on one listening socket until stopped.
//
//   auto acceptor = Acceptor::Start(executor, std::move(fd), [&] { return open < limit; }, [&](UniqueFd connection)
//   {...});
//   ...
//   acceptor->Stop();
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>

#include "config/base/unique_fd.h"
#include "gateway/async/signal.h"

namespace inferd::gateway {

class Acceptor : public std::enable_shared_from_this<Acceptor> {
 public:
  // `has_room` and `on_connection` are called on the executor's thread. While there is no room, or the process is out
  // of descriptors, connections wait in the socket's backlog.
  static std::shared_ptr<Acceptor> Start(const Executor& executor, UniqueFd listener, std::function<bool()> has_room,
                                         std::function<void(UniqueFd)> on_connection);

  // From any thread; neither function is called after the executor came to it. Closes this process's listener.
  void Stop();

  Acceptor(const Executor& executor, UniqueFd listener, std::function<bool()> has_room,
           std::function<void(UniqueFd)> on_connection);

 private:
  Task<void> AcceptUntilStopped();

  boost::asio::posix::stream_descriptor listener_;
  Signal stopped_;
  bool stopping_ = false;
  std::function<bool()> has_room_;
  std::function<void(UniqueFd)> on_connection_;
};

}  // namespace inferd::gateway
