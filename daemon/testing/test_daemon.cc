#include "daemon/testing/test_daemon.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "config/base/address.h"
#include "config/base/status.h"
#include "config/environment.h"

namespace inferd::daemon {
namespace {

constexpr int kPollMilliseconds = 10;

std::string MakeDirectory() {
  char path[] = "/tmp/inferd-test-XXXXXX";
  EXPECT_NE(mkdtemp(path), nullptr);
  return path;
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

UniqueFd BindDatagrams(const std::string& path) {
  UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX};
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return fd;
}

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace

TestDaemon::TestDaemon(std::vector<ScriptedModel> models, std::string settings)
    : directory_(MakeDirectory()), models_(std::move(models)), notify_socket_(BindDatagrams(Path("notify"))) {
  for (const auto& [name, script] : models_) WriteScript(name, script);
  WriteConfig(settings);
}

TestDaemon::~TestDaemon() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  std::filesystem::remove_all(directory_);
}

void TestDaemon::WriteFile(const std::string& name, const std::string& text) const {
  // By rename, as operators should: a reader sees one or the other.
  std::ofstream(Path(name + ".new")) << text;
  std::filesystem::rename(Path(name + ".new"), Path(name));
}

void TestDaemon::WriteScript(const std::string& model, const std::string& script) {
  WriteFile(model + ".script", script + "\n");
}

void TestDaemon::WriteConfig(const std::string& settings) {
  std::string text = "listen: {http: 127.0.0.1:0, grpc: 127.0.0.1:0}\nrun_directory: " + directory_ + "/run\n" +
                     settings + "\nmodels:\n";
  for (const auto& [name, script] : models_) {
    text += "  - {name: " + name + ", path: " + name + ".script, kv_cache: {bytes: 1MiB}}\n";
  }
  WriteFile("inferd.yaml", text);
}

void TestDaemon::CopyPrograms() {
  programs_ = Path("programs");
  std::filesystem::create_directory(programs_);
  for (const char* name : {"inferd-worker", "inferd-gateway"}) {
    std::filesystem::copy(std::string(INFERD_FAKE_PROGRAMS) + "/" + name, programs_ + "/next");
    std::filesystem::rename(programs_ + "/next", programs_ + "/" + name);
  }
}

void TestDaemon::Start(int error_fd) {
  const std::string config = Path("inferd.yaml"), log = Path("log");
  const std::string programs = programs_.empty() ? INFERD_FAKE_PROGRAMS : programs_;
  std::vector<std::string> environment = config::EnvironmentForChildren();
  environment.push_back("NOTIFY_SOCKET=" + Path("notify"));
  std::vector<char*> variables;
  for (std::string& variable : environment) variables.push_back(variable.data());
  variables.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    const int target = error_fd >= 0 ? error_fd : open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(target, STDERR_FILENO);
    execle(INFERD_PROGRAM, "inferd", "--config", config.c_str(), "--programs", programs.c_str(), "--first-user", "0",
           nullptr, variables.data());
    _exit(127);
  }
  // A channel made before the socket is there would first wait out its own backoff.
  WaitUntil([&] { return ConnectUnix(Path("run/admin.sock")).ok() || !IsAlive(pid_); });
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  admin_ = v1::Admin::NewStub(
      grpc::CreateCustomChannel("unix:" + Path("run/admin.sock"), grpc::InsecureChannelCredentials(), arguments));
}

void TestDaemon::Signal(int signal) const { kill(pid_, signal); }

int TestDaemon::Wait() {
  int status = 0;
  EXPECT_TRUE(WaitUntil([&] {
    ReadNotifications();
    return waitpid(pid_, &status, WNOHANG) == pid_;
  }));
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string TestDaemon::log() const { return ReadAll(Path("log")); }

// Often, as a service manager does: the socket takes few messages, and the sender waits for room.
void TestDaemon::ReadNotifications() const {
  char buffer[4096];
  for (;;) {
    const ssize_t count = recv(notify_socket_.get(), buffer, sizeof buffer, 0);
    if (count < 0) return;
    notifications_.emplace_back(buffer, static_cast<size_t>(count));
  }
}

std::vector<std::string> TestDaemon::Notifications() const {
  ReadNotifications();
  return std::exchange(notifications_, {});
}

std::string TestDaemon::NextNotification(const std::string& part) const {
  std::string found;
  EXPECT_TRUE(WaitUntil([&] {
    ReadNotifications();
    while (!notifications_.empty() && found.empty()) {
      if (notifications_.front().find(part) != std::string::npos) found = notifications_.front();
      notifications_.erase(notifications_.begin());
    }
    return !found.empty();
  })) << part;
  return found;
}

v1::StatusResponse TestDaemon::WaitFor(const std::string& what,
                                       const std::function<bool(const v1::StatusResponse&)>& condition) const {
  v1::StatusResponse response;
  const bool came_true = WaitUntil([&] {
    ReadNotifications();
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
    return admin_->Status(&context, {}, &response).ok() && condition(response);
  });
  EXPECT_TRUE(came_true) << what << " did not come true:\n" << response.DebugString() << log();
  return response;
}

v1::StatusResponse TestDaemon::WaitUntilReady() const {
  return WaitFor("readiness", [](const v1::StatusResponse& status) { return status.state() == "ready"; });
}

absl::Status TestDaemon::Reload() const {
  grpc::ClientContext context;
  v1::ReloadResponse response;
  return FromGrpc(admin_->Reload(&context, {}, &response));
}

absl::Status TestDaemon::Swap(const std::string& model, const std::string& path, bool allow_tokenizer_change) const {
  grpc::ClientContext context;
  v1::SwapRequest request;
  v1::SwapResponse response;
  request.set_model(model);
  request.set_path(path);
  request.set_allow_tokenizer_change(allow_tokenizer_change);
  return FromGrpc(admin_->Swap(&context, request, &response));
}

v1::WorkerStatus WorkerOf(const v1::StatusResponse& status, const std::string& model) {
  v1::WorkerStatus newest;
  for (const v1::WorkerStatus& worker : status.workers()) {
    if (worker.model() == model) newest = worker;
  }
  return newest;
}

bool IsAlive(pid_t pid) {
  const std::string stat = ReadAll("/proc/" + std::to_string(pid) + "/stat");
  const size_t end_of_name = stat.rfind(')');
  return end_of_name != stat.npos && stat.substr(end_of_name + 2, 1) != "Z";
}

bool WaitUntil(const std::function<bool()>& condition, int seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    poll(nullptr, 0, kPollMilliseconds);
  }
  return true;
}

}  // namespace inferd::daemon
