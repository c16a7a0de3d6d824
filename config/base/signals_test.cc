#include "config/base/signals.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <set>

namespace inferd {
namespace {

class SignalsTest : public testing::Test {
 protected:
  SignalsTest() { pthread_sigmask(SIG_SETMASK, nullptr, &before_); }
  ~SignalsTest() override { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  sigset_t before_;
};

TEST_F(SignalsTest, AreReadOnceEachInsteadOfInterrupting) {
  const absl::StatusOr<UniqueFd> signals = OpenSignalFd({SIGUSR1, SIGUSR2});
  ASSERT_TRUE(signals.ok()) << signals.status();
  EXPECT_EQ(ReadSignal(signals->get()), std::nullopt);
  raise(SIGUSR1);
  raise(SIGUSR1);  // one is waiting already
  raise(SIGUSR2);
  pollfd entry{signals->get(), POLLIN, 0};
  EXPECT_EQ(poll(&entry, 1, 0), 1);
  std::set<int> seen;
  for (int i = 0; i < 2; ++i) seen.insert(ReadSignal(signals->get()).value_or(0));
  EXPECT_EQ(seen, (std::set<int>{SIGUSR1, SIGUSR2}));
  EXPECT_EQ(ReadSignal(signals->get()), std::nullopt);
}

TEST_F(SignalsTest, TellTheValueThatTheSenderGave) {
  const absl::StatusOr<UniqueFd> signals = OpenSignalFd({SIGUSR1});
  ASSERT_TRUE(signals.ok());
  int value = -1;
  ASSERT_EQ(pthread_sigqueue(pthread_self(), SIGUSR1, {.sival_int = 42}), 0);
  EXPECT_EQ(ReadSignal(signals->get(), &value), SIGUSR1);
  EXPECT_EQ(value, 42);
  raise(SIGUSR1);
  EXPECT_EQ(ReadSignal(signals->get(), &value), SIGUSR1);
  EXPECT_EQ(value, 0);
}

TEST_F(SignalsTest, TheDescriptorIsNotPassedOn) {
  const absl::StatusOr<UniqueFd> signals = OpenSignalFd({SIGUSR1});
  ASSERT_TRUE(signals.ok());
  EXPECT_NE(fcntl(signals->get(), F_GETFD) & FD_CLOEXEC, 0);
}

}  // namespace
}  // namespace inferd
