#include "worker/constraint_reading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/base/status.h"
#include "inferd/v1/inference.pb.h"
#include "worker/fake_tokenizer.h"

namespace inferd::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kTools[] = R"([{"type": "function", "function": {"name": "get_weather"}}])";

class ReadConstraintTest : public testing::Test {
 protected:
  ReadConstraintTest() {
    model_.tokenizer = std::make_unique<FakeTokenizer>();
    model_.answer_format = output::RecognizeFormat("<|tool_call|> <think></think>");
    wire_.mutable_chat()->set_tools_json(kTools);
  }

  absl::StatusOr<std::optional<constraint::ConstraintSource>> Read(bool opens_reasoning = false) {
    return ReadConstraint(model_, wire_, opens_reasoning);
  }

  LoadedModel model_;
  v1::GenerateRequest wire_;
};

TEST_F(ReadConstraintTest, NothingIsAskedForUnlessItIs) {
  EXPECT_FALSE(Read()->has_value());
  wire_.mutable_constraint()->set_json_object(false);
  EXPECT_FALSE(Read()->has_value());
  wire_.mutable_chat()->set_tool_choice_json("\"none\"");
  EXPECT_FALSE(Read()->has_value());
}

TEST_F(ReadConstraintTest, CallsOfStrictFunctionsAreBoundByThemselves) {
  wire_.mutable_chat()->set_tools_json(R"([{"type": "function", "function": {"name": "f", "strict": true}}])");
  const auto source = *Read();
  ASSERT_TRUE(source.has_value());
  ASSERT_EQ(source->compile().status(), absl::OkStatus());
  EXPECT_THAT(source->compile()->program->marker_tokens(), ElementsAre(int32_t{FakeTokenizer::kToolCall}));
  wire_.mutable_chat()->set_tool_choice_json("\"none\"");
  EXPECT_FALSE(Read()->has_value());
  wire_.mutable_chat()->clear_tool_choice_json();
  model_.answer_format = {};
  EXPECT_FALSE(Read()->has_value());
}

TEST_F(ReadConstraintTest, AMarkThatIsAControlTokenStandsForItself) {
  wire_.mutable_chat()->set_tool_choice_json("\"required\"");
  const auto compiled = (*Read())->compile();
  ASSERT_EQ(compiled.status(), absl::OkStatus());
  EXPECT_THAT(compiled->program->marker_tokens(), ElementsAre(int32_t{FakeTokenizer::kToolCall}));
}

TEST_F(ReadConstraintTest, PlainPromptsHaveNothingAroundTheContent) {
  wire_.mutable_constraint()->set_regex("a");
  const std::string of_chat = (*Read())->key, of_reasoning = (*Read(/*opens_reasoning=*/true))->key;
  wire_.set_text("x");
  const std::string of_text = (*Read())->key;
  EXPECT_NE(of_chat, of_text);
  EXPECT_NE(of_chat, of_reasoning);
  EXPECT_THAT((*Read())->compile()->program->marker_tokens(), IsEmpty());
}

TEST_F(ReadConstraintTest, RefusesWhatExcludesEachOther) {
  wire_.mutable_constraint()->set_grammar("root ::= \"a\"");
  wire_.mutable_chat()->set_tool_choice_json("\"required\"");
  EXPECT_EQ(MessageOf(Read().status()), "constraint: cannot be combined with a tool_choice that asks for a call");
  wire_.clear_constraint();
  wire_.mutable_chat()->set_tool_choice_json(R"({"type": "function"})");
  EXPECT_THAT(std::string(MessageOf(Read().status())), testing::HasSubstr("chat.tool_choice_json: expected"));
  wire_.mutable_chat()->set_tool_choice_json(R"({"type": "function", "function": {"name": "other"}})");
  EXPECT_EQ(MessageOf((*Read())->compile().status()), "chat.tool_choice_json: there is no tool other");
}

}  // namespace
}  // namespace inferd::worker
