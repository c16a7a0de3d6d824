#include "config/base/describe_command_line.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace inferd {
namespace {

TEST(DescribeCommandLine, TellsOptionsAndVerbs) {
  CLI::App app("A program.", "program");
  int number = 4;
  bool flag = false;
  std::string kind, file, hidden;
  app.add_option("-n,--number", number, "a number")->capture_default_str();
  app.add_flag("--flag", flag, "a flag");
  app.add_option("--hidden", hidden)->group("");
  CLI::App* verb = app.add_subcommand("verb", "Does it.");
  verb->add_option("file", file, "a file")->required();
  CLI::Option_group* group = verb->add_option_group("one of");
  group->add_option("--kind", kind, "a kind")->check(CLI::IsMember({"a", "b"}));
  const boost::json::value told = boost::json::parse(DescribeCommandLine(app));
  EXPECT_EQ(told.at("name"), "program");
  EXPECT_EQ(told.at("options").as_array().size(), 3u);  // with --help
  const boost::json::value& first = told.at("options").at(1);
  EXPECT_EQ(first.at("names"), (boost::json::array{"-n", "--number"}));
  EXPECT_EQ(first.at("default"), "4");
  EXPECT_EQ(first.at("positional"), false);
  EXPECT_EQ(told.at("options").at(2).at("value"), "");
  const boost::json::value& does = told.at("verbs").at(0);
  EXPECT_EQ(does.at("text"), "Does it.");
  EXPECT_EQ(does.at("options").at(1).at("place"), "file");
  EXPECT_EQ(does.at("options").at(1).at("required"), true);
  EXPECT_EQ(does.at("options").at(2).at("choices"), (boost::json::array{"a", "b"}));
}

}  // namespace
}  // namespace inferd
