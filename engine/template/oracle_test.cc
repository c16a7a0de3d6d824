// All templates of ../shared/oracles/templates: equal text, or an error where Python's jinja2 fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "engine/template/chat_template.h"

namespace inferd::chat_template {
namespace {

const std::filesystem::path kOracles = std::filesystem::path(INFERD_SOURCE_DIR) / "../shared/oracles/templates";

std::string ReadFile(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// The date that the oracles were made with: Sunday 2026-11-29 12:34:56.
std::tm OracleNow() {
  std::tm now{};
  now.tm_year = 126;
  now.tm_mon = 10;
  now.tm_mday = 29;
  now.tm_hour = 12;
  now.tm_min = 34;
  now.tm_sec = 56;
  now.tm_wday = 0;
  now.tm_yday = 332;
  return now;
}

TEST(Oracle, RendersEveryTemplateAsPythonDoes) {
  if (!std::filesystem::exists(kOracles)) GTEST_SKIP() << "no oracle files at " << kOracles;
  int cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kOracles)) {
    if (entry.path().extension() != ".jinja") continue;
    SCOPED_TRACE(entry.path().filename());
    const auto chat = ChatTemplate::Parse(ReadFile(entry.path()));
    ASSERT_TRUE(chat.ok()) << chat.status();
    auto cases_path = entry.path();
    cases_path.replace_extension(".cases.json");
    const boost::json::value all_cases = boost::json::parse(ReadFile(cases_path));
    for (const boost::json::value& value : all_cases.as_array()) {
      const boost::json::object& row = value.as_object();
      SCOPED_TRACE(row.at("name").as_string());
      const auto prompt = (*chat)->Render(row.at("context").as_object(), {}, OracleNow());
      ++cases;
      if (row.contains("error")) {
        const std::string error(row.at("error").as_string());
        EXPECT_EQ(prompt.status().code(), absl::StatusCode::kInvalidArgument) << "Python: " << error;
        constexpr std::string_view kRaised = "TemplateError: ";
        if (error.starts_with(kRaised)) {
          EXPECT_THAT(std::string(prompt.status().message()), testing::HasSubstr(error.substr(kRaised.size())));
        }
      } else {
        EXPECT_TRUE(prompt.ok()) << prompt.status();
        EXPECT_EQ(prompt.ok() ? prompt->Text() : "", std::string(row.at("expected").as_string()));
      }
    }
  }
  EXPECT_GT(cases, 500);
}

}  // namespace
}  // namespace inferd::chat_template
