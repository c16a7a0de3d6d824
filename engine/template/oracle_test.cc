// Whole templates and snippets against the text that Python's jinja2 makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <string>

#include "config/base/source_folder.h"
#include "engine/template/chat_template.h"
#include "engine/template/test_support.h"

namespace inferd::chat_template {
namespace {

using testing::HasSubstr;

const std::filesystem::path kSource = SourceFolder();

// `row` has "error" (what Python raised) or the expected text under `text_key`.
void ExpectAsPython(const absl::StatusOr<RenderedPrompt>& prompt, const boost::json::object& row,
                    std::string_view text_key) {
  if (const boost::json::value* raised = row.if_contains("error")) {
    const std::string error(raised->as_string());
    EXPECT_EQ(prompt.status().code(), absl::StatusCode::kInvalidArgument) << "Python: " << error;
    constexpr std::string_view kRaised = "TemplateError: ";
    if (error.starts_with(kRaised)) {
      EXPECT_THAT(std::string(prompt.status().message()), HasSubstr(error.substr(kRaised.size())));
    }
  } else {
    EXPECT_TRUE(prompt.ok()) << prompt.status();
    EXPECT_EQ(prompt.ok() ? prompt->Text() : "", std::string(row.at({text_key.data(), text_key.size()}).as_string()));
  }
}

TEST(Oracle, RendersEveryTemplateAsPythonDoes) {
  const std::filesystem::path oracles = kSource / "../shared/oracles/templates";
  if (!std::filesystem::exists(oracles)) GTEST_SKIP() << "no oracle files at " << oracles;
  int cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(oracles)) {
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
      ExpectAsPython((*chat)->Render(row.at("context").as_object(), {}, TestTime()), row, "expected");
      ++cases;
    }
  }
  EXPECT_GT(cases, 500);
}

TEST(Snippets, RenderAsPythonDoes) {
  const std::filesystem::path folder = kSource / "tests/golden/templates";
  const std::string context = ReadFile(folder / "context.json");
  const boost::json::value rows = boost::json::parse(ReadFile(folder / "snippets.json"));
  for (const boost::json::value& value : rows.as_array()) {
    const boost::json::object& row = value.as_object();
    const std::string source(row.at("template").as_string());
    SCOPED_TRACE(source);
    ExpectAsPython(RenderSource(source, context), row, "text");
  }
  EXPECT_GT(rows.as_array().size(), 300u);
}

}  // namespace
}  // namespace inferd::chat_template
