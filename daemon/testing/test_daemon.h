// The real inferd over scripted children, in a directory of its own, for tests of process faults.
//
//   TestDaemon daemon({{"chat", "load_ms 10"}}, "log: {level: debug}");
//   daemon.Start();
//   daemon.WaitFor("chat READY", [](const v1::StatusResponse& s) { return StateOf(s, "chat") == "READY"; });
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "config/base/unique_fd.h"
#include "inferd/v1/admin.grpc.pb.h"

namespace inferd::daemon {

// A model and what its worker does (see fake_worker.cc).
struct ScriptedModel {
  std::string name;
  std::string script;
};

class TestDaemon {
 public:
  // `settings`: more YAML for the configuration.
  TestDaemon(std::vector<ScriptedModel> models, std::string settings);
  TestDaemon(const TestDaemon&) = delete;
  // Kills the daemon, and with it its children.
  ~TestDaemon();

  // Runs it; standard error goes to log(), or to `error_fd`.
  void Start(int error_fd = -1);
  // Puts new copies of the children's programs into the directory, as an update does; those started later run them.
  void CopyPrograms();
  void WriteConfig(const std::string& settings);
  void WriteScript(const std::string& model, const std::string& script);
  void WriteFile(const std::string& name, const std::string& text) const;
  std::string Path(const std::string& name) const { return directory_ + "/" + name; }

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  // Waits for the end and gives the exit code, -1 for a signal.
  int Wait();
  std::string log() const;
  // Messages that the service manager's socket got since the last call.
  std::vector<std::string> Notifications() const;
  // The next message with `part` in it; fails the test if none comes.
  std::string NextNotification(const std::string& part) const;

  v1::Admin::Stub& admin() const { return *admin_; }
  // Polls the status until `condition` holds, for at most 20 s; fails the test with `what` otherwise.
  v1::StatusResponse WaitFor(const std::string& what,
                             const std::function<bool(const v1::StatusResponse&)>& condition) const;
  v1::StatusResponse WaitUntilReady() const;
  absl::Status Reload() const;
  absl::Status Swap(const std::string& model, const std::string& path = "", bool allow_tokenizer_change = false) const;

 private:
  void ReadNotifications() const;

  const std::string directory_;
  std::vector<ScriptedModel> models_;
  UniqueFd notify_socket_;
  mutable std::vector<std::string> notifications_;
  pid_t pid_ = -1;
  std::string programs_;
  std::unique_ptr<v1::Admin::Stub> admin_;
};

// Of the newest version of a model; a status without version 0 if there is none.
v1::WorkerStatus WorkerOf(const v1::StatusResponse& status, const std::string& model);

// Whether a process exists that is not merely waiting to be reaped.
bool IsAlive(pid_t pid);
bool WaitUntil(const std::function<bool()>& condition, int seconds = 20);

}  // namespace inferd::daemon
