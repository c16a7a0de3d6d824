// Runs a piece of a test in a process of its own, for limits that hold for good.
//
//   EXPECT_EQ(InChild([] { return LimitSystemCalls(Stage::kGateway).ok() ? 0 : 1; }), 0);
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace inferd::sandbox {

// The exit code that `body` returns; 100: the process was killed.
inline int InChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

}  // namespace inferd::sandbox
