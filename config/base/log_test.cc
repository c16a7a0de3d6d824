#include "config/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/base/testing_pipe.h"

namespace inferd {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;

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
