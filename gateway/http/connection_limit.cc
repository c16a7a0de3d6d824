#include "gateway/http/connection_limit.h"

#include <sys/stat.h>

#include <optional>

namespace inferd::gateway {
namespace {

std::optional<ino_t> SocketInode(int fd) {
  struct stat found {};
  if (fstat(fd, &found) != 0 || !S_ISSOCK(found.st_mode)) return std::nullopt;
  return found.st_ino;
}

}  // namespace

bool ConnectionLimit::HasRoom() {
  SteadyLock lock(&mutex_);
  if (OpenEverywhere() < most_) return true;
  DropClosed();
  return OpenEverywhere() < most_;
}

void ConnectionLimit::Opened() {
  SteadyLock lock(&mutex_);
  ++open_;
}

void ConnectionLimit::Closed() {
  SteadyLock lock(&mutex_);
  --open_;
}

void ConnectionLimit::OpenedElsewhere(int fd) {
  std::optional<ino_t> inode = SocketInode(fd);
  SteadyLock lock(&mutex_);
  if (inode) elsewhere_[fd] = *inode;
}

int ConnectionLimit::open() const {
  SteadyLock lock(&mutex_);
  return open_;
}

bool ConnectionLimit::AwaitNone(std::chrono::steady_clock::time_point deadline) const {
  SteadyLock lock(&mutex_);
  auto none_open = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return open_ == 0; };
  return mutex_.AwaitUntil(none_open, deadline);
}

size_t ConnectionLimit::OpenEverywhere() const { return static_cast<size_t>(open_) + elsewhere_.size(); }

void ConnectionLimit::DropClosed() {
  std::erase_if(elsewhere_, [](const auto& entry) { return SocketInode(entry.first) != entry.second; });
}

}  // namespace inferd::gateway
