#include "config/base/address.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "config/base/status.h"

namespace inferd {
namespace {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    char path[] = "/tmp/inferd-XXXXXX";
    EXPECT_NE(mkdtemp(path), nullptr);
    path_ = path;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

TEST(Address, ReadsAndWritesEveryForm) {
  for (const char* text : {"127.0.0.1:8080", "0.0.0.0:0", "[::1]:65535", "unix:/run/x.sock"}) {
    const auto address = ParseAddress(text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->ToString(), text);
  }
  EXPECT_EQ(ParseAddress("localhost:1")->ToString(), "127.0.0.1:1");
  EXPECT_EQ(ParseAddress("[::]:1")->Local().ToString(), "[::1]:1");
  EXPECT_EQ(ParseAddress("0.0.0.0:1")->Local().ToString(), "127.0.0.1:1");
}

TEST(Address, RefusesWhatIsNone) {
  const std::string long_path = "unix:/" + std::string(107, 'x');
  for (const char* text :
       {"", "8080", ":8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:-1", "127.0.0.1:65536", "127.0.0.1:8x", "host:1",
        "256.0.0.1:1", "[::1:1", "unix:relative", "unix:", long_path.c_str()}) {
    EXPECT_FALSE(ParseAddress(text).ok()) << text;
  }
}

TEST(Address, KnowsLoopback) {
  EXPECT_TRUE(ParseAddress("127.3.2.1:1")->IsLoopback());
  EXPECT_TRUE(ParseAddress("unix:/x")->IsLoopback());
  EXPECT_FALSE(ParseAddress("0.0.0.0:1")->IsLoopback());
}

TEST(Listen, PortInUseNamesTheAddress) {
  const auto first = Listen(*ParseAddress("127.0.0.1:0"));
  ASSERT_TRUE(first.ok()) << first.status();
  const Address bound = BoundAddress(first->get());
  EXPECT_NE(bound.port, 0);
  const auto second = Listen(bound);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_NE(MessageOf(second.status()).find(bound.ToString()), std::string_view::npos);
}

TEST(Listen, UnixSocketIsForItsOwnerAlone) {
  TemporaryDirectory directory;
  const auto fd = Listen(Address{.path = directory / "a.sock"});
  ASSERT_TRUE(fd.ok()) << fd.status();
  struct stat file;
  ASSERT_EQ(stat((directory / "a.sock").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  EXPECT_TRUE(ConnectUnix(directory / "a.sock").ok());
}

TEST(Listen, ReplacesTheSocketOfADeadProcessAndRefusesALiveOne) {
  TemporaryDirectory directory;
  const Address address{.path = directory / "a.sock"};
  { ASSERT_TRUE(Listen(address).ok()); }
  EXPECT_EQ(ConnectUnix(address.path).status().code(), absl::StatusCode::kUnavailable);
  const auto live = Listen(address);
  ASSERT_TRUE(live.ok()) << live.status();
  EXPECT_EQ(Listen(address).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST(Listen, LeavesAFileThatIsNoSocketAlone) {
  TemporaryDirectory directory;
  std::ofstream(directory / "a.sock") << "text";
  EXPECT_EQ(Listen(Address{.path = directory / "a.sock"}).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(std::filesystem::file_size(directory / "a.sock"), 4u);
}

}  // namespace
}  // namespace inferd
