// A gateway-stub in a process of its own, so that tests can kill it as a crash would.
//
//   StubProcess stub({"--listen", "unix:/tmp/x/w.sock"});
//   stub.Kill();
//   stub.Start();
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace inferd::gateway {

class StubProcess {
 public:
  // Starts it and waits until it serves.
  explicit StubProcess(std::vector<std::string> arguments);
  ~StubProcess() { Kill(); }
  StubProcess(const StubProcess&) = delete;
  StubProcess& operator=(const StubProcess&) = delete;

  void Start();
  // SIGKILL, and waits for the end.
  void Kill();
  // Waits until it ends by itself.
  void WaitForDeath();

 private:
  std::vector<std::string> arguments_;
  pid_t pid_ = -1;
};

}  // namespace inferd::gateway
