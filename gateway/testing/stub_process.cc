#include "gateway/testing/stub_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/base/status.h"
#include "config/base/unique_fd.h"

extern char** environ;

namespace inferd::gateway {

StubProcess::StubProcess(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {
  arguments_.insert(arguments_.begin(), INFERD_GATEWAY_STUB);
  Start();
}

void StubProcess::Start() {
  int ends[2];
  CHECK(pipe2(ends, O_CLOEXEC) == 0);
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
  std::vector<char*> argv;
  for (std::string& argument : arguments_) argv.push_back(argument.data());
  argv.push_back(nullptr);
  CHECK(posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  write_end.Reset();
  char ready;
  CHECK(read(read_end.get(), &ready, 1) == 1);
}

void StubProcess::Kill() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  WaitForDeath();
}

void StubProcess::WaitForDeath() {
  if (pid_ <= 0) return;
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace inferd::gateway
