#include "config/base/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "config/base/status.h"
#include "config/base/testing_pipe.h"

namespace inferd {
namespace {

// Runs a child that watches `lifeline` and writes one byte to `events`: 'r' when it is ready, 's' at a signal, 'e' when
// the daemon ends; its id.
pid_t StartChild(Pipe& lifeline, Pipe& events) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  lifeline.write_end.Reset();
  const auto note = [&](char what) { return write(events.write_end.get(), &what, 1) == 1; };
  const auto watch = ChildProcess::Start(
      {.lifeline_fd = lifeline.read_end.Release()}, [&](int) { note('s'); }, [&] { note('e'); });
  if (!watch.ok() || !note('r')) _exit(99);
  for (;;) pause();
}

char NextEvent(Pipe& events) {
  char what = 0;
  EXPECT_EQ(read(events.read_end.get(), &what, 1), 1);
  return what;
}

int ExitCode(pid_t pid) {
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ChildProcess, EndsWhenTheLifelineEnds) {
  Pipe lifeline, events;
  const pid_t pid = StartChild(lifeline, events);
  ASSERT_EQ(NextEvent(events), 'r');
  lifeline.write_end.Reset();
  EXPECT_EQ(ExitCode(pid), kExitFailed);
}

TEST(ChildProcess, FirstSignalIsPassedOnAndTheSecondEnds) {
  Pipe lifeline, events;
  const pid_t pid = StartChild(lifeline, events);
  ASSERT_EQ(NextEvent(events), 'r');
  kill(pid, SIGHUP);
  kill(pid, SIGTERM);
  EXPECT_EQ(NextEvent(events), 's');
  EXPECT_EQ(waitpid(pid, nullptr, WNOHANG), 0);
  kill(pid, SIGTERM);
  EXPECT_EQ(ExitCode(pid), kExitFailed);
}

TEST(ChildProcess, HearsOfTheDaemonsEndBesideItsSignals) {
  Pipe lifeline, events;
  const pid_t pid = StartChild(lifeline, events);
  ASSERT_EQ(NextEvent(events), 'r');
  for (int i = 0; i < 2; ++i) {
    kill(pid, SIGUSR2);
    EXPECT_EQ(NextEvent(events), 'e');
  }
  kill(pid, SIGTERM);
  EXPECT_EQ(NextEvent(events), 's');
  kill(pid, SIGTERM);
  EXPECT_EQ(ExitCode(pid), kExitFailed);
}

TEST(ChildProcess, ReportsOneBoundedLine) {
  Pipe report;
  {
    auto watch = ChildProcess::Start({.report_fd = report.write_end.Release()}, [](int) {});
    ASSERT_TRUE(watch.ok()) << watch.status();
    (*watch)->Report(InvalidField("a.field", "two\nlines {}", std::string(10'000, 'x')));
  }
  std::string text(20'000, '\0');
  text.resize(static_cast<size_t>(read(report.read_end.get(), text.data(), text.size())));
  EXPECT_EQ(text.size(), 4096u);
  EXPECT_TRUE(text.starts_with("a.field\ntwo lines xxx"));
  EXPECT_TRUE(text.ends_with("x\n"));
}

TEST(ChildProcess, RefusesADescriptorThatIsNotOpen) {
  EXPECT_FALSE(ChildProcess::Start({.lifeline_fd = 987}, [](int) {}).ok());
}

}  // namespace
}  // namespace inferd
