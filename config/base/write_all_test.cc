#include "config/base/write_all.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <thread>
#include <vector>

#include "config/base/status.h"
#include "config/base/unique_fd.h"

namespace inferd {
namespace {

TEST(WriteAll, TakesAsManyWritesAsTheDescriptorNeeds) {
  int fds[2];
  ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
  const UniqueFd read_end(fds[0]);
  UniqueFd write_end(fds[1]);
  std::vector<uint8_t> bytes(1 << 20);  // a pipe takes 64 KiB at a time
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 251);
  std::vector<uint8_t> received;
  std::thread reader([&] {
    uint8_t buffer[4096];
    for (ssize_t count = 0; (count = read(read_end.get(), buffer, sizeof buffer)) > 0;) {
      received.insert(received.end(), buffer, buffer + count);
    }
  });
  EXPECT_TRUE(WriteAll(write_end.get(), bytes, "a pipe").ok());
  write_end.Reset();
  reader.join();
  EXPECT_EQ(received, bytes);
}

TEST(WriteAll, NamesWhatCannotBeWritten) {
  const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full);
  const uint8_t byte[] = {1};
  const absl::Status status = WriteAll(full.get(), byte, "/models/a.gguf");
  EXPECT_EQ(status.code(), absl::ErrnoToStatusCode(ENOSPC));
  EXPECT_EQ(MessageOf(status), "/models/a.gguf: writing: No space left on device");
  EXPECT_TRUE(WriteAll(full.get(), {}, "nothing").ok());
}

}  // namespace
}  // namespace inferd
