#include "gateway/http/connection_limit.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/base/unique_fd.h"

namespace inferd::gateway {
namespace {

UniqueFd MakeSocket() { return UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

TEST(ConnectionLimit, CountsOurOwnAndOthersTogether) {
  ConnectionLimit limit(2);
  limit.Opened();
  EXPECT_TRUE(limit.HasRoom());
  UniqueFd other = MakeSocket();
  limit.OpenedElsewhere(other.get());
  EXPECT_FALSE(limit.HasRoom());
  limit.Closed();
  EXPECT_TRUE(limit.HasRoom());
  EXPECT_EQ(limit.open(), 0);
}

TEST(ConnectionLimit, NoticesThatAnotherClosedItsOwn) {
  ConnectionLimit limit(1);
  UniqueFd other = MakeSocket();
  limit.OpenedElsewhere(other.get());
  ASSERT_FALSE(limit.HasRoom());
  other.Reset();
  EXPECT_TRUE(limit.HasRoom());
}

TEST(ConnectionLimit, IsNotFooledByADescriptorThatIsUsedAgain) {
  ConnectionLimit limit(1);
  UniqueFd other = MakeSocket();
  UniqueFd unrelated = MakeSocket();
  limit.OpenedElsewhere(other.get());
  ASSERT_FALSE(limit.HasRoom());
  ASSERT_EQ(dup2(unrelated.get(), other.get()), other.get());
  EXPECT_TRUE(limit.HasRoom());
}

}  // namespace
}  // namespace inferd::gateway
