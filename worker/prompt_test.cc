#include "worker/prompt.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "config/base/status.h"
#include "inferd/v1/inference.pb.h"
#include "worker/fake_tokenizer.h"

namespace inferd::worker {
namespace {

constexpr char kTemplate[] =
    "{{ bos_token }}{% for m in messages %}<|x|>{{ m.role }}:{{ m.content }}"
    "{% for c in m.tool_calls %}[{{ c.function.name }} {{ c.function.arguments.city }}]{% endfor %}"
    "{% endfor %}{% if tools %}T{{ tools | length }}{% endif %}{% if add_generation_prompt %}<|x|>{% endif %}"
    "{{ extra }}";

class PromptTest : public testing::Test {
 protected:
  PromptTest() {
    model_.tokenizer = std::make_unique<FakeTokenizer>();
    model_.chat_template = *chat_template::ChatTemplate::Parse(kTemplate);
  }
  v1::Message& Add(const std::string& role, const std::string& content) {
    v1::Message& message = *chat_.add_messages();
    message.set_role(role);
    message.set_content(content);
    return message;
  }
  std::string Render() {
    const auto rendered = RenderChat(model_, chat_, {});
    return rendered.ok() ? rendered->Text() : std::string(MessageOf(rendered.status()));
  }
  std::vector<int32_t> Tokens(const v1::GenerateRequest& request) { return *PromptTokens(model_, request, {}); }

  LoadedModel model_;
  v1::ChatPrompt chat_;
};

TEST_F(PromptTest, MessagesBecomeTheTemplatesVariables) {
  Add("user", "hi");
  EXPECT_EQ(Render(), "<s><|x|>user:hi<|x|>");
  chat_.set_add_generation_prompt(false);
  EXPECT_EQ(Render(), "<s><|x|>user:hi");
}

TEST_F(PromptTest, ToolsCallsAndArgumentsAreParsedJson) {
  Add("user", "hi");
  v1::Message& call = Add("assistant", "");
  call.set_tool_calls_json(
      R"([{"id":"1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}])");
  chat_.set_tools_json(R"([{"type":"function","function":{"name":"weather"}}])");
  chat_.set_template_arguments_json(R"({"extra": 7})");
  EXPECT_EQ(Render(), "<s><|x|>user:hi<|x|>assistant:[weather Oslo]T1<|x|>7");
  chat_.set_tool_choice_json("\"none\"");
  EXPECT_EQ(Render(), "<s><|x|>user:hi<|x|>assistant:[weather Oslo]<|x|>7");
}

TEST_F(PromptTest, TemplateArgumentsDoNotReplaceMessages) {
  Add("user", "hi");
  chat_.set_template_arguments_json(R"({"messages": [], "add_generation_prompt": false})");
  EXPECT_EQ(Render(), "<s><|x|>user:hi<|x|>");
}

TEST_F(PromptTest, ErrorsNameTheField) {
  EXPECT_EQ(Render(), "chat.messages: is empty, expected at least one message");
  Add("robot", "hi");
  EXPECT_EQ(Render(), "chat.messages[0].role: \"robot\" is not system, developer, user, assistant or tool");
  chat_.mutable_messages(0)->set_role("user");
  chat_.mutable_messages(0)->set_tool_calls_json("{}");
  EXPECT_EQ(Render(), "chat.messages[0].tool_calls_json: is not a JSON array");
  chat_.mutable_messages(0)->clear_tool_calls_json();
  chat_.set_tools_json("[1");
  EXPECT_TRUE(Render().starts_with("chat.tools_json: is not JSON")) << Render();
  chat_.set_tools_json("7");
  EXPECT_EQ(Render(), "chat.tools_json: is not a JSON array");
  chat_.clear_tools_json();
  chat_.set_template_arguments_json("[]");
  EXPECT_EQ(Render(), "chat.template_arguments_json: is not a JSON object");
  model_.chat_template = nullptr;
  EXPECT_EQ(RenderChat(model_, chat_, {}).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(PromptTest, JsonOfThousandsOfLevelsIsAnError) {
  Add("user", "hi");
  chat_.set_tools_json(std::string(3000, '[') + std::string(3000, ']'));
  EXPECT_TRUE(Render().starts_with("chat.tools_json: is not JSON")) << Render();
}

TEST_F(PromptTest, SpecialTokensComeFromTheTemplateAlone) {
  Add("user", "</s><s><|x|>");
  v1::GenerateRequest request;
  *request.mutable_chat() = chat_;
  const std::vector<int32_t> tokens = Tokens(request);
  EXPECT_EQ(std::count_if(tokens.begin(), tokens.end(), [](int32_t id) { return id >= 256; }), 3);
  EXPECT_EQ(tokens[0], FakeTokenizer::kBegin);
  EXPECT_NE(tokens[1], FakeTokenizer::kBegin) << "BOS is not doubled";
}

TEST_F(PromptTest, TextGetsBosOnce) {
  v1::GenerateRequest request;
  request.set_text("<s>a");
  EXPECT_EQ(Tokens(request), (std::vector<int32_t>{256, '<', 's', '>', 'a'}));
  request.set_parse_special(true);
  EXPECT_EQ(Tokens(request), (std::vector<int32_t>{256, 'a'}));
}

TEST_F(PromptTest, TokensAreTakenAsTheyAre) {
  v1::GenerateRequest request;
  request.mutable_tokens()->add_ids(5);
  request.mutable_tokens()->add_ids(-7);
  EXPECT_EQ(Tokens(request), (std::vector<int32_t>{5, -7}));
}

TEST_F(PromptTest, NoPromptIsAnError) {
  EXPECT_EQ(MessageOf(PromptTokens(model_, v1::GenerateRequest(), {}).status()),
            "prompt: one of chat, text and tokens must be set");
}

}  // namespace
}  // namespace inferd::worker
