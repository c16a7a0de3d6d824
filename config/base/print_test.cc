#include "config/base/print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inferd {
namespace {

TEST(Printable, KeepsTextAndReplacesControls) {
  const std::pair<std::string, std::string> cases[] = {
      {"a\tb\nc", "a\tb\nc"},
      {"grün 語 🙂", "grün 語 🙂"},
      {"\x1b]0;title\x07", "\uFFFD]0;title\uFFFD"},
      {"\x7f", "\uFFFD"},
      {"\xc2\x9b"
       "31m",
       "\uFFFD"
       "31m"},  // CSI as one character
      {"\xff", "\uFFFD"},
  };
  for (const auto& [text, printable] : cases) EXPECT_EQ(Printable(text), printable);
}

TEST(PrintError, IsALineThatCannotDriveTheTerminal) {
  testing::internal::CaptureStderr();
  PrintError("inferd", "key \x1b[31m is unknown");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "inferd: key \uFFFD[31m is unknown\n");
}

}  // namespace
}  // namespace inferd
