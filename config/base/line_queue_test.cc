#include "config/base/line_queue.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "config/base/testing_pipe.h"

namespace inferd {
namespace {

using testing::EndsWith;

TEST(LineQueue, WritesLinesInOrder) {
  Pipe pipe;
  LineQueue queue(pipe.write_end.get(), 1 << 20);
  for (int i = 0; i < 100; ++i) queue.Push(std::to_string(i) + "\n");
  queue.Close(Milliseconds(10'000));
  const std::string text = pipe.ReadAvailable();
  EXPECT_TRUE(text.starts_with("0\n1\n2\n"));
  EXPECT_THAT(text, EndsWith("98\n99\n"));
  EXPECT_EQ(queue.dropped(), 0u);
}

TEST(LineQueue, DropsAndCountsBehindAReaderThatStopped) {
  auto pipe = std::make_unique<Pipe>();
  LineQueue queue(pipe->write_end.get(), 16 << 10);
  const std::string line(1023, 'x');
  for (int i = 0; i < 1000; ++i) queue.Push(line + "\n");  // a pipe takes 64 KiB, the queue 16 KiB
  EXPECT_GT(queue.dropped(), 800u);
  queue.Close(Milliseconds(0));
  static const Pipe* const kept = pipe.release();  // the writer may still be in its last poll
  EXPECT_NE(kept, nullptr);
}

TEST(LineQueue, CountsLinesThatTheDescriptorRefuses) {
  UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full);
  LineQueue queue(full.get(), 1 << 20);
  queue.Push("a\n");
  queue.Push("b\n");
  queue.Close(Milliseconds(10'000));
  EXPECT_EQ(queue.dropped(), 2u);
}

TEST(LineQueue, DropsWhatComesAfterItsEnd) {
  Pipe pipe;
  LineQueue queue(pipe.write_end.get(), 1 << 20);
  queue.Push("before\n");
  queue.Close(Milliseconds(10'000));
  queue.Push("after\n");
  EXPECT_EQ(pipe.ReadAvailable(), "before\n");
  EXPECT_EQ(queue.dropped(), 1u);
}

}  // namespace
}  // namespace inferd
