#include "worker/acceptor.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "config/base/status.h"

namespace inferd::worker {
namespace {

// Until descriptors may be there again.
constexpr int kPauseMilliseconds = 50;

}  // namespace

Acceptor::Acceptor(UniqueFd listener, std::function<void(UniqueFd)> on_connection)
    : listener_(std::move(listener)),
      stop_(eventfd(0, EFD_CLOEXEC)),
      on_connection_(std::move(on_connection)),
      thread_([this] { Run(); }) {}

Acceptor::~Acceptor() { Stop(); }

void Acceptor::Stop() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  CHECK(write(stop_.get(), &one, sizeof one) == sizeof one);
  thread_.join();
  listener_.Reset();
}

void Acceptor::Run() {
  for (;;) {
    pollfd entries[] = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    if (poll(entries, 2, -1) < 0) continue;
    if (entries[0].revents != 0) return;
    UniqueFd connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection) {
      on_connection_(std::move(connection));
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
      poll(entries, 1, kPauseMilliseconds);
    }
  }
}

}  // namespace inferd::worker
