#include "config/base/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "config/base/json_string.h"
#include "config/base/line_queue.h"
#include "config/base/unique_fd.h"

namespace inferd {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;

struct Pipe {
  UniqueFd read_end, write_end;
  Pipe() {
    int fds[2];
    EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
    read_end = UniqueFd(fds[0]);
    write_end = UniqueFd(fds[1]);
  }
  // Everything until the write end is closed or nothing more comes at once.
  std::string ReadAvailable() {
    std::string out;
    pollfd entry{read_end.get(), POLLIN, 0};
    char buffer[65536];
    while (poll(&entry, 1, 0) > 0) {
      const ssize_t count = read(read_end.get(), buffer, sizeof buffer);
      if (count <= 0) break;
      out.append(buffer, static_cast<size_t>(count));
    }
    return out;
  }
};

TEST(JsonString, EscapesWhatCouldForgeALine) {
  const std::pair<std::string, std::string> cases[] = {
      {"plain", "\"plain\""},
      {"a\"b\\c", R"("a\"b\\c")"},
      {"a\r\nb\tc", R"("a\r\nb\tc")"},
      {std::string("\0\x1b[31m\x7f", 7), R"("\u0000\u001b[31m\u007f")"},
      {"\xc2\x85", R"("\u0085")"},
      {"\xe2\x80\xa8\xe2\x80\xa9", R"("\u2028\u2029")"},
      {"grün 語 🙂", "\"grün 語 🙂\""},
      {"\xff\xfe", R"("\ufffd\ufffd")"},
      {"\xc0\xaf", R"("\ufffd\ufffd")"},            // overlong
      {"\xed\xa0\x80", R"("\ufffd\ufffd\ufffd")"},  // surrogate
      {"\xf4\x90\x80\x80", R"("\ufffd\ufffd\ufffd\ufffd")"},
      {"cut \xe2\x82", R"("cut \ufffd\ufffd")"},
  };
  for (const auto& [text, json] : cases) {
    std::string out;
    AppendJsonString(text, out);
    EXPECT_EQ(out, json);
  }
}

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

TEST(Log, WritesOneJsonObjectALine) {
  Pipe pipe;
  StartLog({.process = "test", .level = LogLevel::kInfo, .fd = pipe.write_end.get()});
  LogDebug("not shown");
  LogInfo("two\nlines", {{"model", "chat"}, {"count", 3u}, {"delta", -4}, {"share", 0.5}, {"ok", true}});
  StopLog(Milliseconds(10'000));
  EXPECT_THAT(
      pipe.ReadAvailable(),
      MatchesRegex(R"(\{"time":"[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9]+\.[0-9]+Z","level":"info","process":"test",)"
                   R"("message":"two\\nlines","model":"chat","count":3,"delta":-4,"share":0\.5,"ok":true\})"
                   "\n"));
}

TEST(Log, CutsLongTextAtACharacter) {
  Pipe pipe;
  StartLog({.process = "test", .fd = pipe.write_end.get()});
  std::string text = "x";
  for (int i = 0; i < 1000; ++i) text += "é";
  LogInfo(text);
  StopLog(Milliseconds(10'000));
  const std::string line = pipe.ReadAvailable();
  EXPECT_LT(line.size(), 1200u);
  EXPECT_THAT(line, HasSubstr("é...\""));
  EXPECT_THAT(line, testing::Not(HasSubstr("ufffd")));
}

TEST(Log, TextFormatKeepsALineALine) {
  Pipe pipe;
  StartLog({.process = "test", .format = LogFormat::kText, .fd = pipe.write_end.get()});
  LogWarning("a\nb", {{"model", "x y"}});
  StopLog(Milliseconds(10'000));
  EXPECT_THAT(pipe.ReadAvailable(), EndsWith("warning test: a\\nb model=\"x y\"\n"));
}

}  // namespace
}  // namespace inferd
