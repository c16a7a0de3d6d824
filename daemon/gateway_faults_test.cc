// The gateway dies, is replaced, is updated: on real processes with a scripted gateway.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <csignal>

#include "config/base/address.h"
#include "config/base/status.h"
#include "daemon/testing/test_daemon.h"

namespace inferd::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kQuickRestarts[] =
    "supervisor: {restart: {first_delay: 10ms, max_delay: 20ms, max: 3}, watchdog: 1s, drain: 1s}";

// What the scripted gateway answers: its process id. Waits as long as it takes.
std::string AskHttp(const std::string& address_text) {
  const Address address = *ParseAddress(address_text);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const UniqueFd owner(fd);
  sockaddr_in peer{.sin_family = AF_INET, .sin_port = htons(address.port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  if (connect(fd, reinterpret_cast<sockaddr*>(&peer), sizeof peer) != 0) return "refused";
  char buffer[64];
  const ssize_t count = recv(fd, buffer, sizeof buffer, 0);
  return count > 0 ? std::string(buffer, static_cast<size_t>(count)) : "closed";
}

std::vector<std::string> Reload(const TestDaemon& daemon) {
  grpc::ClientContext context;
  v1::ReloadResponse response;
  const grpc::Status status = daemon.admin().Reload(&context, {}, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return {response.changes().begin(), response.changes().end()};
}

void WaitForEndOf(const TestDaemon& daemon, pid_t pid) {
  daemon.WaitFor("the old gateway's end", [&](const v1::StatusResponse&) { return !IsAlive(pid); });
}

TEST(GatewayFaults, AGatewayThatRefusesItsConfigurationLeavesTheOldOne) {
  TestDaemon daemon({{"a", ""}}, kQuickRestarts);
  daemon.Start();
  const auto before = daemon.WaitUntilReady();
  for (const char* file : {"refused.keys", "good.keys"}) daemon.WriteFile(file, "keys: []\n");
  daemon.WriteConfig(std::string("auth: {keys_file: refused.keys}\n") + kQuickRestarts);
  EXPECT_THAT(std::string(MessageOf(daemon.Reload())), HasSubstr("gateway: refused.keys: no keys"));
  EXPECT_EQ(AskHttp(before.http_address()), std::to_string(before.gateway().pid()));
  daemon.WriteConfig(std::string("auth: {keys_file: good.keys}\n") + kQuickRestarts);
  EXPECT_TRUE(daemon.Reload().ok());
  const auto after = daemon.WaitFor("the old gateway's end",
                                    [&](const v1::StatusResponse&) { return !IsAlive(before.gateway().pid()); });
  EXPECT_EQ(AskHttp(after.http_address()), std::to_string(after.gateway().pid()));
}

TEST(GatewayFaults, ANewGatewayThatCrashesIsStartedAgain) {
  TestDaemon daemon({{"a", ""}}, kQuickRestarts);
  daemon.Start();
  const auto before = daemon.WaitUntilReady();
  daemon.WriteFile("crash.keys", "keys: []\n");
  daemon.WriteConfig(std::string("auth: {keys_file: crash.keys}\n") + kQuickRestarts);
  EXPECT_THAT(Reload(daemon), ElementsAre(HasSubstr("gateway: replaced")));
  WaitForEndOf(daemon, before.gateway().pid());
  const auto after = daemon.WaitUntilReady();
  EXPECT_EQ(after.gateway().restarts(), 1u);
  EXPECT_EQ(AskHttp(after.http_address()), std::to_string(after.gateway().pid()));
}

TEST(GatewayFaults, RestartPutsANewGatewayInThePlaceOfTheOld) {
  TestDaemon daemon({{"a", ""}}, kQuickRestarts);
  daemon.Start();
  const auto before = daemon.WaitUntilReady();
  grpc::ClientContext context;
  v1::RestartGatewayResponse response;
  const grpc::Status status = daemon.admin().RestartGateway(&context, {}, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_NE(response.pid(), before.gateway().pid());
  WaitForEndOf(daemon, before.gateway().pid());
  EXPECT_EQ(AskHttp(before.http_address()), std::to_string(response.pid()));
  EXPECT_EQ(WorkerOf(daemon.WaitUntilReady(), "a").pid(), WorkerOf(before, "a").pid());
}

TEST(GatewayFaults, ReloadReplacesAGatewayWhoseProgramChanged) {
  TestDaemon daemon({{"a", ""}}, kQuickRestarts);
  daemon.CopyPrograms();
  daemon.Start();
  const auto before = daemon.WaitUntilReady();
  EXPECT_THAT(Reload(daemon), IsEmpty());
  daemon.CopyPrograms();
  EXPECT_THAT(Reload(daemon), ElementsAre("gateway: replaced, the program changed"));
  WaitForEndOf(daemon, before.gateway().pid());
  const auto after = daemon.WaitUntilReady();
  EXPECT_EQ(WorkerOf(after, "a").pid(), WorkerOf(before, "a").pid());
  EXPECT_THAT(Reload(daemon), IsEmpty());
}

TEST(GatewayFaults, KilledGatewayRefusesNoConnection) {
  TestDaemon daemon({{"a", ""}}, kQuickRestarts);
  daemon.Start();
  const auto before = daemon.WaitUntilReady();
  ASSERT_EQ(AskHttp(before.http_address()), std::to_string(before.gateway().pid()));
  kill(before.gateway().pid(), SIGKILL);
  EXPECT_TRUE(WaitUntil([&] { return !IsAlive(before.gateway().pid()); }));
  const std::string answer = AskHttp(before.http_address());
  const auto after = daemon.WaitFor("the new gateway", [&](const v1::StatusResponse& status) {
    return status.gateway().state() == "READY" && status.gateway().pid() != before.gateway().pid();
  });
  EXPECT_EQ(answer, std::to_string(after.gateway().pid()));
  EXPECT_EQ(WorkerOf(after, "a").pid(), WorkerOf(before, "a").pid());
}

}  // namespace
}  // namespace inferd::daemon
