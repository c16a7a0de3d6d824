#include "worker/prompt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <limits>

#include "config/base/status.h"
#include "inferd/v1/inference.pb.h"
#include "worker/fake_tokenizer.h"

namespace inferd::worker {
namespace {

constexpr engine::RequestLimits kLimits{.vocabulary_size = 260, .context_tokens = 1 << 20, .pool_tokens = 1 << 20};
constexpr char kTemplate[] =
    "{{ bos_token }}{% for m in messages %}<|x|>{{ m.role }}:{{ m.content }}"
    "{% for c in m.tool_calls %}[{{ c.function.name }} {{ c.function.arguments | tojson }}]{% endfor %}"
    "{% endfor %}{% if tools %}T{{ tools | length }}{% endif %}{% if add_generation_prompt %}<|x|>{% endif %}"
    "{{ extra }}";

class PromptTest : public testing::Test {
 protected:
  PromptTest() {
    model_.tokenizer = std::make_unique<FakeTokenizer>();
    SetTemplate(kTemplate);
  }
  void SetTemplate(const std::string& source) {
    model_.chat_template = *chat_template::ChatTemplate::Parse(source);
    model_.abilities = *conversation::ProbeAbilities(*model_.chat_template, {});
  }
  v1::Message& Add(const std::string& role, const std::string& content) {
    v1::Message& message = *chat_.add_messages();
    message.set_role(role);
    message.set_content(content);
    return message;
  }
  std::string Render() {
    const auto rendered = RenderChat(model_, chat_, {});
    return rendered.ok() ? rendered->prompt.Text() : std::string(MessageOf(rendered.status()));
  }
  std::vector<int32_t> Tokens(const v1::GenerateRequest& request) {
    return ReadPrompt(model_, request, {}, kLimits)->tokens;
  }

  LoadedModel model_;
  v1::ChatPrompt chat_;
};

TEST_F(PromptTest, MessagesBecomeTheTemplatesVariables) {
  Add("user", "hi");
  EXPECT_EQ(Render(), "<s><|x|>user:hi<|x|>");
  chat_.set_add_generation_prompt(false);
  EXPECT_EQ(Render(), "<s><|x|>user:hi");
}

TEST_F(PromptTest, AContinuationIsRenderedAtTheTimeOfItsBeginning) {
  v1::GenerateRequest request;
  request.set_rendered_unix_seconds(1'000'000'000);
  const WallTime now{std::chrono::seconds(1'700'000'000)};
  EXPECT_EQ(RenderTime(request, now), 1'700'000'000) << "it resumes nothing";
  request.add_resume_tokens();
  EXPECT_EQ(RenderTime(request, now), 1'000'000'000);
  request.clear_rendered_unix_seconds();
  EXPECT_EQ(RenderTime(request, now), 1'700'000'000) << "its first worker told no time";
}

TEST_F(PromptTest, TheTimeOfAPromptIsTheTemplates) {
  SetTemplate("{{ strftime_now('%Y') }}{{ messages[0].content }}");
  const auto render = [this](int64_t time) { return RenderChat(model_, chat_, *LocalTime(time))->prompt.Text(); };
  Add("user", "hi");
  EXPECT_EQ(render(1'000'000'000), "2001hi");
  EXPECT_EQ(render(1'700'000'000), "2023hi");
}

TEST_F(PromptTest, ToolsCallsAndArgumentsAreParsedJson) {
  Add("user", "hi");
  v1::Message& call = Add("assistant", "");
  call.set_tool_calls_json(
      R"([{"id":"1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}])");
  chat_.set_tools_json(R"([{"type":"function","function":{"name":"weather"}}])");
  chat_.set_template_arguments_json(R"({"extra": 7})");
  EXPECT_EQ(Render(), "<s><|x|>user:hi<|x|>assistant:[weather {\"city\": \"Oslo\"}]T1<|x|>7");
  chat_.set_tool_choice_json("\"none\"");
  EXPECT_EQ(Render(), "<s><|x|>user:hi<|x|>assistant:[weather {\"city\": \"Oslo\"}]<|x|>7");
}

TEST_F(PromptTest, ArgumentsThatAreNoJsonStayText) {
  v1::Message& call = Add("assistant", "");
  const auto rendered = [&](const std::string& arguments) {
    call.set_tool_calls_json(R"([{"function":{"name":"f","arguments":")" + arguments + "\"}}]");
    return Render();
  };
  EXPECT_EQ(rendered("{}\\u0000 and more"), "<s><|x|>assistant:[f \"{}\\u0000 and more\"]<|x|>")
      << "a NUL does not end the text";
  EXPECT_EQ(rendered("{"), "<s><|x|>assistant:[f \"{\"]<|x|>");
  EXPECT_EQ(rendered("[1]"), "<s><|x|>assistant:[f \"[1]\"]<|x|>");
  EXPECT_EQ(rendered(""), "<s><|x|>assistant:[f {}]<|x|>");
}

TEST_F(PromptTest, ContentBesideCallsIsNullWhereTheTemplateTakesIt) {
  Add("user", "hi");
  v1::Message& call = Add("assistant", "");
  call.set_has_content(false);
  call.set_tool_calls_json(R"([{"function":{"name":"f","arguments":"{}"}}])");
  constexpr char kCalls[] = "{% for c in m.tool_calls %}{{ c.function }}{% endfor %}{% endfor %}";
  const std::string function = "{'name': 'f', 'arguments': '{}'}";
  SetTemplate(std::string("{% for m in messages %}{{ m.content or '-' }}{{ m.content is none }}") + kCalls);
  EXPECT_EQ(Render(), "hiFalse-True" + function);
  SetTemplate(std::string("{% for m in messages %}[{{ '' + m.content }}]") + kCalls);
  EXPECT_EQ(Render(), "[hi][]" + function) << "a template that knows no null";
  SetTemplate(std::string("{% for m in messages %}[{{ m.content }}]") + kCalls);
  EXPECT_EQ(Render(), "[hi][]" + function) << "a template that would print it";
}

TEST_F(PromptTest, TemplateArgumentsMayOpenTheTurnButNotReplaceTheMessages) {
  Add("user", "hi");
  SetTemplate("{{ messages[0].content }}{{ add_generation_prompt }}");
  EXPECT_EQ(Render(), "hiTrue");
  chat_.set_template_arguments_json(R"({"add_generation_prompt": false})");
  EXPECT_EQ(Render(), "hiFalse");
  chat_.set_add_generation_prompt(true);
  EXPECT_EQ(Render(), "hiTrue") << "the field of its own goes first";
  for (const char* name : {"messages", "tools"}) {
    chat_.set_template_arguments_json("{\"" + std::string(name) + "\": []}");
    const absl::Status status = RenderChat(model_, chat_, {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_NE(MessageOf(status).find(name), std::string_view::npos) << status;
  }
}

TEST_F(PromptTest, ToolChoiceTellsWhetherACallIsForced) {
  const auto choice = [this](const std::string& json) {
    chat_.set_tool_choice_json(json);
    return ToolChoiceOf(chat_);
  };
  EXPECT_EQ(*choice("\"auto\""), ToolChoice::kNone) << "there are no tools";
  EXPECT_EQ(MessageOf(choice("\"required\"").status()),
            "chat.tool_choice_json: \"required\" needs tools, and tools_json is empty");
  EXPECT_FALSE(choice("\"often\"").ok());
  chat_.set_tools_json("[]");
  EXPECT_EQ(*choice(""), ToolChoice::kAuto);
  EXPECT_EQ(*choice("\"auto\""), ToolChoice::kAuto);
  EXPECT_EQ(*choice("\"none\""), ToolChoice::kNone);
  EXPECT_EQ(*choice("\"required\""), ToolChoice::kForced);
  EXPECT_EQ(*choice(R"({"type": "function", "function": {"name": "f"}})"), ToolChoice::kForced);
  EXPECT_EQ(MessageOf(choice("\"often\"").status()),
            "chat.tool_choice_json: \"often\" is not \"none\", \"auto\", \"required\" or an object");
}

TEST_F(PromptTest, TheTemplateAloneOpensAReasoning) {
  const auto opens = [this](const std::string& source, const std::string& content) {
    SetTemplate(source);
    model_.answer_format = output::RecognizeFormat("<think></think>");
    v1::GenerateRequest request;
    v1::Message& message = *request.mutable_chat()->add_messages();
    message.set_role("user");
    message.set_content(content);
    return ReadPrompt(model_, request, {}, kLimits)->opens_reasoning;
  };
  EXPECT_TRUE(opens("{{ messages[0].content }}<|x|><think>\n", "hi"));
  EXPECT_FALSE(opens("{{ messages[0].content }}<|x|><think>\n\n</think>\n", "hi"));
  EXPECT_FALSE(opens("<|x|>{{ messages[0].content }}", "<think>"));
}

TEST_F(PromptTest, ErrorsNameTheField) {
  EXPECT_EQ(Render(), "chat.messages: is empty, expected at least one message");
  Add("robot", "hi");
  EXPECT_EQ(Render(), "chat.messages[0].role: \"robot\" is not system, developer, user, assistant, tool or function");
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
  EXPECT_EQ(MessageOf(ReadPrompt(model_, v1::GenerateRequest(), {}, kLimits).status()),
            "prompt: one of chat, text and tokens must be set");
}

}  // namespace
}  // namespace inferd::worker
