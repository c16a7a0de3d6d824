#include "config/base/command_line.h"

#include <gtest/gtest.h>

namespace inferd {
namespace {

std::optional<int> Parse(std::vector<const char*> arguments, int* number) {
  CLI::App app("A program.", "program");
  app.add_option("--number", *number, "a number")->required();
  arguments.insert(arguments.begin(), "program");
  return ParseCommandLine(app, static_cast<int>(arguments.size()), arguments.data());
}

TEST(CommandLine, GoesOnAfterGoodArguments) {
  int number = 0;
  EXPECT_EQ(Parse({"--number", "7"}, &number), std::nullopt);
  EXPECT_EQ(number, 7);
}

TEST(CommandLine, HelpIsSuccessAndMisuseIsTwo) {
  int number = 0;
  EXPECT_EQ(Parse({"--help"}, &number), 0);
  EXPECT_EQ(Parse({}, &number), 2);
  EXPECT_EQ(Parse({"--number", "seven"}, &number), 2);
  EXPECT_EQ(Parse({"--number", "7", "--other"}, &number), 2);
}

}  // namespace
}  // namespace inferd
