#include "daemon/admin_peer.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/base/unique_fd.h"

namespace inferd::daemon {
namespace {

constexpr uid_t kDaemon = 500, kStranger = 600;
constexpr gid_t kOperators = 70;
constexpr pid_t kWorker = 11, kGateway = 12, kOther = 13;

PeerRule Rule() {
  return {.owner = kDaemon,
          .group = kOperators,
          .is_worker = [](pid_t pid) { return pid == kWorker; },
          .is_gateway = [](pid_t pid) { return pid == kGateway; }};
}

struct Case {
  const char* name;
  Peer peer;
  bool allowed;
};

const Case kCases[] = {
    {"root", {.pid = kOther, .uid = 0}, true},
    {"the daemon's user", {.pid = kOther, .uid = kDaemon}, true},
    {"a stranger", {.pid = kOther, .uid = kStranger, .gid = 1}, false},
    {"of the group, first", {.pid = kOther, .uid = kStranger, .gid = kOperators}, true},
    {"of the group, among others", {.pid = kOther, .uid = kStranger, .gid = 1, .groups = {2, kOperators}}, true},
    {"of other groups", {.pid = kOther, .uid = kStranger, .gid = 1, .groups = {2, 3}}, false},
    {"the gateway with its own user", {.pid = kGateway, .uid = kStranger}, true},
    {"a worker with its own user", {.pid = kWorker, .uid = kStranger}, false},
    {"a worker with the daemon's user", {.pid = kWorker, .uid = kDaemon}, false},
    {"a worker that is root", {.pid = kWorker, .uid = 0}, false},
    {"a worker of the group", {.pid = kWorker, .uid = kStranger, .gid = kOperators}, false},
};

TEST(AdminPeer, IsAllowedByUserGroupAndProcess) {
  for (const Case& each : kCases) {
    EXPECT_EQ(CheckPeer(each.peer, Rule()).ok(), each.allowed) << each.name;
  }
  PeerRule without_group = Rule();
  without_group.group.reset();
  EXPECT_FALSE(CheckPeer({.pid = kOther, .uid = kStranger, .gid = kOperators}, without_group).ok());
}

TEST(AdminPeer, IsWhoTheKernelSaysItIs) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const UniqueFd here(ends[0]), there(ends[1]);
  const auto peer = PeerOf(here.get());
  ASSERT_TRUE(peer.ok()) << peer.status();
  EXPECT_EQ(peer->pid, getpid());
  EXPECT_EQ(peer->uid, geteuid());
  EXPECT_EQ(peer->gid, getegid());
  std::vector<gid_t> groups(static_cast<size_t>(getgroups(0, nullptr)));
  getgroups(static_cast<int>(groups.size()), groups.data());
  EXPECT_EQ(peer->groups, groups);
}

}  // namespace
}  // namespace inferd::daemon
