// Takes connections from a listening socket that was opened before the process gave up the right to open any.
//
//   Acceptor acceptor(std::move(listener), [&](UniqueFd connection) { AddConnection(connection.Release()); });
#pragma once

#include <functional>
#include <thread>

#include "config/base/unique_fd.h"

namespace inferd::worker {

class Acceptor {
 public:
  Acceptor(UniqueFd listener, std::function<void(UniqueFd)> on_connection);
  // As Stop. Nothing is called afterwards.
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;

  // Closes the socket, so that who connects is refused. Once; more calls do nothing.
  void Stop();

 private:
  void Run();

  UniqueFd listener_;
  const UniqueFd stop_;
  const std::function<void(UniqueFd)> on_connection_;
  std::thread thread_;
};

}  // namespace inferd::worker
