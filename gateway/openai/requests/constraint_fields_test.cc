#include "gateway/openai/requests/constraint_fields.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <tuple>

#include "config/base/status.h"
#include "gateway/api/field_names.h"
#include "gateway/openai/requests/chat_request.h"
#include "gateway/serving/errors.h"

namespace inferd::gateway {
namespace {

std::string Chat(std::string_view field) {
  return fmt::format(R"({{"messages":[{{"role":"user","content":"hi"}}],{}}})", field);
}

TEST(ConstraintFields, BindsByTheNamesOfOtherServers) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {R"("guided_json":{"type":"null"})", "guided_json", R"(json_schema: "{\"type\":\"null\"}")"},
      {R"("guided_json":"{}")", "guided_json", R"(json_schema: "{}")"},
      {R"("json_schema":{})", "json_schema", R"(json_schema: "{}")"},
      {R"("guided_regex":"a")", "guided_regex", R"(regex: "a")"},
      {R"("regex":"a")", "regex", R"(regex: "a")"},
      {R"("guided_grammar":"g")", "guided_grammar", R"(grammar: "g")"},
      {R"("ebnf":"g")", "ebnf", R"(grammar: "g")"},
      {R"("guided_choice":["a","b"])", "guided_choice", R"(choice { texts: "a" texts: "b" })"},
      {R"("structured_outputs":{"json":{}})", "structured_outputs.json", R"(json_schema: "{}")"},
      {R"("structured_outputs":{"regex":"a","json":null})", "structured_outputs.regex", R"(regex: "a")"},
      {R"("structured_outputs":{"choice":["a"]})", "structured_outputs.choice", R"(choice { texts: "a" })"},
      {R"("structured_outputs":{"grammar":"g"})", "structured_outputs.grammar", R"(grammar: "g")"},
      {R"("structured_outputs":{"json_object":true})", "structured_outputs.json_object", "json_object: true"},
      {R"("response_format":{"type":"json_object","schema":{}})", "response_format.schema", R"(json_schema: "{}")"},
      {R"("response_format":{"type":"json_schema","schema":{}})", "response_format.schema", R"(json_schema: "{}")"},
      {R"("response_format":{"type":"json_object"})", "response_format", "json_object: true"},
  };
  for (const auto& [field, name, constraint] : cases) {
    const auto chat = ParseChatRequest(Chat(field));
    ASSERT_TRUE(chat.ok()) << field << chat.status();
    EXPECT_TRUE(chat->warnings.empty()) << field;
    EXPECT_EQ(chat->common.constraint_name, name);
    v1::Constraint expected;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(constraint, &expected)) << constraint;
    EXPECT_EQ(chat->generate.constraint().SerializeAsString(), expected.SerializeAsString()) << field;
    const std::string place = std::string(name) + ": at #: no";
    for (const char* ours : {"constraint.json_schema", "constraint.regex", "constraint.choice", "constraint"}) {
      EXPECT_EQ(MessageOf(WithConstraintName(InvalidField(ours, "at #: no"), name)), place);
    }
  }
}

TEST(ConstraintFields, RefusesByName) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("structured_outputs":{"whitespace_pattern":" "})", "structured_outputs.whitespace_pattern"},
      {R"("structured_outputs":{"json":{},"regex":"a"})", "structured_outputs.regex"},
      {R"("guided_json":5)", "guided_json"},
      {R"("guided_choice":["a",""])", "guided_choice"},
      {R"("guided_choice":["a"],"guided_json":{})", "guided_choice"},
      {R"("guided_whitespace_pattern":" ")", "guided_whitespace_pattern"},
      {R"("grammar":"root ::= \"a\"","response_format":{"type":"json_object"})", "grammar"},
      {R"("grammar":"root ::= \"a\"","guided_regex":"a")", "guided_regex"},
      {R"("guided_regex":5)", "guided_regex"},
      {R"("response_format":{"type":"json_object"},"grammar":"root ::= \"a\"")", "grammar"},
  };
  for (const auto& [field, param] : cases) {
    const absl::Status status = ParseChatRequest(Chat(field)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << field;
    EXPECT_EQ(ToApiError(status).param, param) << field;
  }
}

}  // namespace
}  // namespace inferd::gateway
