#include "gateway/openai/answers/choices_answer.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <limits>

#include "gateway/openai/answers/chat_answer.h"
#include "gateway/openai/answers/text_answer.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

AnswerOptions Options(uint32_t choices = 1) {
  AnswerOptions options;
  options.id = "chatcmpl-1";
  options.created_unix_seconds = 1700000000;
  options.model = "m";
  options.choices = choices;
  return options;
}

v1::GenerateEvent Accepted() {
  v1::GenerateEvent event;
  event.mutable_accepted()->set_fingerprint("fp_1");
  event.mutable_accepted()->set_model("m");
  return event;
}

v1::GenerateEvent Text(const std::string& text, v1::Delta::Kind kind = v1::Delta::KIND_CONTENT, uint32_t choice = 0) {
  v1::GenerateEvent event;
  event.mutable_delta()->set_choice(choice);
  event.mutable_delta()->set_kind(kind);
  event.mutable_delta()->set_text(text);
  event.mutable_delta()->add_token_ids(5);
  return event;
}

v1::GenerateEvent ToolCall(const std::string& id, const std::string& name, const std::string& arguments) {
  v1::GenerateEvent event;
  event.mutable_delta()->set_kind(v1::Delta::KIND_TOOL_CALL);
  event.mutable_delta()->mutable_tool_call()->set_id(id);
  event.mutable_delta()->mutable_tool_call()->set_name(name);
  event.mutable_delta()->mutable_tool_call()->set_arguments(arguments);
  return event;
}

v1::GenerateEvent Finished(v1::Finished::Reason reason, uint32_t choice = 0) {
  v1::GenerateEvent event;
  event.mutable_finished()->set_choice(choice);
  event.mutable_finished()->set_reason(reason);
  event.mutable_finished()->mutable_usage()->set_prompt_tokens(choice == 0 ? 10 : 0);
  event.mutable_finished()->mutable_usage()->set_completion_tokens(2);
  return event;
}

v1::TokenLogprob Logprob(const std::string& token, float logprob) {
  v1::TokenLogprob result;
  result.set_token(token);
  result.set_logprob(logprob);
  *result.add_top() = result;
  return result;
}

// The JSON of each "data:" line but the last, which must be [DONE] if `done`.
std::vector<json::value> Chunks(const std::string& sse, bool done) {
  std::vector<json::value> chunks;
  size_t at = 0;
  bool saw_done = false;
  while (at < sse.size()) {
    size_t end = sse.find("\n\n", at);
    std::string line = sse.substr(at, end - at);
    EXPECT_TRUE(line.starts_with("data: ")) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    saw_done = line == "data: [DONE]";
    if (!saw_done) chunks.push_back(json::parse(line.substr(6)));
    at = end + 2;
  }
  EXPECT_EQ(saw_done, done);
  return chunks;
}

std::string Stream(Answer& answer, const std::vector<v1::GenerateEvent>& events) {
  std::string sse;
  for (const auto& event : events) EXPECT_TRUE(answer.Add(0, event, &sse).ok());
  answer.AppendEnd(sse);
  return sse;
}

json::value Whole(Answer& answer, const std::vector<v1::GenerateEvent>& events) {
  for (const auto& event : events) EXPECT_TRUE(answer.Add(0, event, nullptr).ok());
  return json::parse(answer.Body());
}

TEST(ChatAnswer, StreamsRoleContentFinishDone) {
  AnswerOptions options = Options();
  options.include_usage = true;
  options.warnings = {"w"};
  ChatAnswer answer(std::move(options), false);
  auto chunks = Chunks(Stream(answer, {Accepted(), Text("a\"\n"), Text(""), Text("b", v1::Delta::KIND_REASONING),
                                       Finished(v1::Finished::REASON_LENGTH)}),
                       true);
  ASSERT_EQ(chunks.size(), 5u);
  for (const json::value& chunk : chunks) {
    EXPECT_EQ(chunk.at("id"), "chatcmpl-1");
    EXPECT_EQ(chunk.at("object"), "chat.completion.chunk");
    EXPECT_EQ(chunk.at("created"), 1700000000);
    EXPECT_EQ(chunk.at("model"), "m");
    EXPECT_EQ(chunk.at("system_fingerprint"), "fp_1");
  }
  auto choice = [&](size_t i) { return chunks[i].at("choices").at(0); };
  EXPECT_EQ(choice(0).at("delta").at("role"), "assistant");
  EXPECT_EQ(choice(1).at("delta"), (json::value{{"content", "a\"\n"}}));
  EXPECT_EQ(choice(1).at("finish_reason"), nullptr);
  EXPECT_EQ(choice(2).at("delta"), (json::value{{"reasoning_content", "b"}}));
  EXPECT_EQ(choice(3).at("delta"), json::object());
  EXPECT_EQ(choice(3).at("finish_reason"), "length");
  EXPECT_EQ(chunks[0].at("warnings").at(0), "w");
  EXPECT_FALSE(chunks[1].as_object().contains("warnings"));
  EXPECT_EQ(chunks[3].at("usage"), nullptr);
  EXPECT_EQ(chunks[4].at("choices"), json::array());
  EXPECT_EQ(chunks[4].at("usage").at("total_tokens"), 12);
}

TEST(ChatAnswer, StreamsToolCallsPieceByPiece) {
  ChatAnswer answer(Options(), false);
  auto chunks = Chunks(Stream(answer, {Accepted(), ToolCall("c1", "f", "{"), ToolCall("", "", "}"),
                                       Finished(v1::Finished::REASON_TOOL_CALLS)}),
                       true);
  ASSERT_EQ(chunks.size(), 4u);
  auto call = [&](size_t i) { return chunks[i].at("choices").at(0).at("delta").at("tool_calls").at(0); };
  EXPECT_EQ(call(1),
            (json::value{
                {"index", 0}, {"id", "c1"}, {"type", "function"}, {"function", {{"name", "f"}, {"arguments", "{"}}}}));
  EXPECT_EQ(call(2), (json::value{{"index", 0}, {"function", {{"arguments", "}"}}}}));
  EXPECT_EQ(chunks[3].at("choices").at(0).at("finish_reason"), "tool_calls");
}

TEST(ChatAnswer, CollectsTheWholeMessage) {
  ChatAnswer answer(Options(2), true);
  v1::GenerateEvent with_logprob = Text("\xC3\xA9");
  *with_logprob.mutable_delta()->add_logprobs() = Logprob("\xC3", -0.5f);
  *with_logprob.mutable_delta()->add_logprobs() = Logprob("\xA9", -std::numeric_limits<float>::infinity());
  json::value body = Whole(answer, {Accepted(), with_logprob, Text("think", v1::Delta::KIND_REASONING, 1),
                                    Text("x", v1::Delta::KIND_CONTENT, 1), Finished(v1::Finished::REASON_STOP, 1),
                                    Finished(v1::Finished::REASON_STOP, 0)});
  EXPECT_EQ(body.at("object"), "chat.completion");
  const json::value& first = body.at("choices").at(0);
  EXPECT_EQ(first.at("message"), (json::value{{"role", "assistant"}, {"content", "\xC3\xA9"}, {"refusal", nullptr}}));
  const json::value& entry = first.at("logprobs").at("content").at(0);
  EXPECT_EQ(entry.at("token"), "\xEF\xBF\xBD");
  EXPECT_EQ(entry.at("bytes"), json::array{0xC3});
  EXPECT_EQ(entry.at("logprob"), -0.5);
  EXPECT_EQ(entry.at("top_logprobs").at(0).at("logprob"), -0.5);
  EXPECT_EQ(first.at("logprobs").at("content").at(1).at("logprob"), -9999.0);
  EXPECT_EQ(body.at("choices").at(1).at("message").at("reasoning_content"), "think");
  EXPECT_EQ(body.at("choices").at(1).at("index"), 1);
  EXPECT_EQ(body.at("usage").at("prompt_tokens"), 10);
  EXPECT_EQ(body.at("usage").at("completion_tokens"), 4);
  EXPECT_EQ(body.at("usage").at("prompt_tokens_details").at("cached_tokens"), 0);
}

TEST(ChatAnswer, TellsHowManyTokensWereDroppedIfAny) {
  v1::Usage usage;
  EXPECT_FALSE(UsageJson(usage).contains("dropped_tokens"));
  usage.set_dropped_tokens(7);
  EXPECT_EQ(UsageJson(usage).at("dropped_tokens"), 7);
}

TEST(ChatAnswer, AMessageOfToolCallsAloneHasNoContent) {
  ChatAnswer answer(Options(), false);
  json::value body = Whole(answer, {Accepted(), ToolCall("c1", "f", "{\"a\":"), ToolCall("", "", "1}"),
                                    Finished(v1::Finished::REASON_TOOL_CALLS)});
  const json::value& message = body.at("choices").at(0).at("message");
  EXPECT_EQ(message.at("content"), nullptr);
  EXPECT_EQ(message.at("tool_calls").at(0).at("function").at("arguments"), "{\"a\":1}");
  EXPECT_EQ(body.at("choices").at(0).at("finish_reason"), "tool_calls");
}

TEST(ChatAnswer, AFailedChoiceAndAWrongIndexAreErrors) {
  ChatAnswer answer(Options(), false);
  EXPECT_TRUE(absl::IsInternal(answer.Add(0, Finished(v1::Finished::REASON_ERROR), nullptr)));
  EXPECT_TRUE(absl::IsInternal(answer.Add(0, Text("x", v1::Delta::KIND_CONTENT, 1), nullptr)));
  v1::GenerateEvent clients_fault = Finished(v1::Finished::REASON_ERROR);
  clients_fault.mutable_finished()->set_error("logit_bias: bans all");
  clients_fault.mutable_finished()->set_error_code(static_cast<uint32_t>(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(answer.Add(0, clients_fault, nullptr), absl::InvalidArgumentError("logit_bias: bans all"));
}

TEST(TextAnswer, EchoesThePromptWithItsLogprobs) {
  AnswerOptions options = Options();
  TextAnswer answer(std::move(options), {.with_logprobs = true, .echo = {"\xC3\xA9 b"}});
  v1::GenerateEvent prompt;
  prompt.mutable_delta()->set_kind(v1::Delta::KIND_PROMPT);
  v1::TokenLogprob* first = prompt.mutable_delta()->add_logprobs();
  first->set_token("\xC3\xA9");
  *prompt.mutable_delta()->add_logprobs() = Logprob(" b", -1);
  v1::GenerateEvent text = Text("c");
  *text.mutable_delta()->add_logprobs() = Logprob("c", -2);
  json::value body = Whole(answer, {Accepted(), prompt, text, Finished(v1::Finished::REASON_STOP)});
  EXPECT_EQ(body.at("object"), "text_completion");
  const json::value& choice = body.at("choices").at(0);
  EXPECT_EQ(choice.at("text"), "\xC3\xA9 bc");
  EXPECT_EQ(choice.at("logprobs").at("tokens"), (json::array{"\xC3\xA9", " b", "c"}));
  EXPECT_EQ(choice.at("logprobs").at("token_logprobs"), (json::array{nullptr, -1.0, -2.0}));
  EXPECT_EQ(choice.at("logprobs").at("text_offset"), (json::array{0, 1, 3}));
  EXPECT_EQ(choice.at("logprobs").at("top_logprobs").at(0), nullptr);
  EXPECT_EQ(choice.at("logprobs").at("top_logprobs").at(1), (json::value{{" b", -1.0}}));
}

TEST(TextAnswer, PiecesOfCharactersHaveKeysOfTheirOwn) {
  TextAnswer answer(Options(), {.with_logprobs = true, .echo = {}});
  v1::GenerateEvent text = Text("\xC3\xA9");
  v1::TokenLogprob* token = text.mutable_delta()->add_logprobs();
  *token = Logprob("\xC3", -0.5);
  for (const char* piece : {"\xC3", "\xF0\x9F", "a\xF0", "\xC3\xA9"}) *token->add_top() = Logprob(piece, -1);
  json::value body = Whole(answer, {Accepted(), text, Finished(v1::Finished::REASON_STOP)});
  const json::value& logprobs = body.at("choices").at(0).at("logprobs");
  EXPECT_EQ(logprobs.at("tokens"), (json::array{R"(bytes:\xc3)"}));
  const json::object& top = logprobs.at("top_logprobs").at(0).as_object();
  EXPECT_EQ(top.size(), 4u);
  for (const char* key : {R"(bytes:\xc3)", R"(bytes:\xf0\x9f)", R"(bytes:\x61\xf0)", "\xC3\xA9"}) {
    EXPECT_TRUE(top.contains(key)) << key;
  }
}

v1::GenerateEvent PromptReport(const std::vector<std::string>& tokens) {
  v1::GenerateEvent event;
  event.mutable_delta()->set_kind(v1::Delta::KIND_PROMPT);
  for (size_t i = 0; i < tokens.size(); ++i) {
    v1::TokenLogprob* entry = event.mutable_delta()->add_logprobs();
    *entry = Logprob(tokens[i], -1);
    if (i == 0) entry->clear_logprob();
  }
  return event;
}

v1::GenerateEvent TextWithLogprob(const std::string& text) {
  v1::GenerateEvent event = Text(text);
  *event.mutable_delta()->add_logprobs() = Logprob(text, -2);
  return event;
}

TEST(TextAnswer, StreamsTheOffsetsOfAnEchoedPromptToo) {
  TextAnswer answer(Options(), {.with_logprobs = true, .echo = {"One two"}});
  auto chunks = Chunks(Stream(answer, {Accepted(), PromptReport({"One", " two"}), TextWithLogprob(" three"),
                                       TextWithLogprob("."), Finished(v1::Finished::REASON_STOP)}),
                       true);
  ASSERT_EQ(chunks.size(), 5u);
  auto choice = [&](size_t i) { return chunks[i].at("choices").at(0); };
  EXPECT_EQ(choice(0).at("text"), "One two");
  EXPECT_EQ(choice(1).at("logprobs").at("tokens"), (json::array{"One", " two"}));
  EXPECT_EQ(choice(1).at("logprobs").at("token_logprobs"), (json::array{nullptr, -1.0}));
  EXPECT_EQ(choice(1).at("logprobs").at("text_offset"), (json::array{0, 3}));
  EXPECT_EQ(choice(2).at("logprobs").at("text_offset"), json::array{7});
  EXPECT_EQ(choice(3).at("logprobs").at("text_offset"), json::array{13});
}

TEST(TextAnswer, OfAPromptThatIsEvaluatedAloneAllTokensAreThere) {
  TextAnswer answer(Options(), {.with_logprobs = true, .echo = {"One two"}});
  json::value body = Whole(answer, {Accepted(), PromptReport({"One", " two"}), Finished(v1::Finished::REASON_LENGTH)});
  EXPECT_EQ(body.at("choices").at(0).at("text"), "One two");
  EXPECT_EQ(body.at("choices").at(0).at("logprobs").at("text_offset"), (json::array{0, 3}));
}

TEST(TextAnswer, TokensThatAreNotInTheTextTakeNoRoom) {
  for (const auto& [tokens, offsets] : std::vector<std::pair<std::vector<std::string>, json::array>>{
           {{"<s>", "One", " two"}, {0, 0, 3}},    // the tokenizer's own beginning
           {{"<s>", " One", " two"}, {0, 0, 3}},   // and a space that it puts before the text
           {{"\xC3", "\xA9", "x"}, {0, 1, 1}}}) {  // a character in two tokens
    const bool accent = tokens.front() == "\xC3";
    TextAnswer answer(Options(), {.with_logprobs = true, .echo = {accent ? "\xC3\xA9x" : "One two"}});
    json::value body =
        Whole(answer, {Accepted(), PromptReport(tokens), TextWithLogprob("!"), Finished(v1::Finished::REASON_STOP)});
    json::array expected = offsets;
    expected.push_back(accent ? 2 : 7);
    EXPECT_EQ(body.at("choices").at(0).at("logprobs").at("text_offset"), expected) << tokens.front();
  }
}

// Token ids need not spell whole characters.
TEST(TextAnswer, AnEchoThatIsNoUtf8IsMadeSo) {
  const TextAnswer::Extras extras{.with_logprobs = true, .echo = {"\xF3\x80\n\xC3\xA9\xDE"}};
  const std::string shown = "\xEF\xBF\xBD\xEF\xBF\xBD\n\xC3\xA9\xEF\xBF\xBD";
  const std::vector<v1::GenerateEvent> events = {Accepted(), PromptReport({"\xF3", "\x80", "\n", "\xC3\xA9", "\xDE"}),
                                                 TextWithLogprob("a"), Finished(v1::Finished::REASON_STOP)};
  TextAnswer whole(Options(), extras);
  const json::value body = Whole(whole, events);
  EXPECT_EQ(body.at("choices").at(0).at("text"), json::value(shown + "a"));
  EXPECT_EQ(body.at("choices").at(0).at("logprobs").at("text_offset"), (json::array{0, 1, 2, 3, 4, 5}));
  TextAnswer streamed(Options(), extras);
  const auto chunks = Chunks(Stream(streamed, events), true);
  EXPECT_EQ(chunks[0].at("choices").at(0).at("text"), json::value(shown));
  EXPECT_EQ(chunks[1].at("choices").at(0).at("logprobs").at("text_offset"), (json::array{0, 1, 2, 3, 4}));
  EXPECT_EQ(chunks[2].at("choices").at(0).at("logprobs").at("text_offset"), json::array{5});
}

TEST(TextAnswer, EveryChoiceOfAPromptHasItsReport) {
  TextAnswer answer(Options(2), {.with_logprobs = true, .echo = {"One"}});
  v1::GenerateEvent of_second = TextWithLogprob("b");
  of_second.mutable_delta()->set_choice(1);
  // The second choice may be faster than the report of the first.
  json::value body = Whole(answer, {Accepted(), of_second, PromptReport({"One"}), TextWithLogprob("a"),
                                    Finished(v1::Finished::REASON_STOP), Finished(v1::Finished::REASON_STOP, 1)});
  for (int i : {0, 1}) {
    EXPECT_EQ(body.at("choices").at(i).at("logprobs").at("tokens").at(0), "One");
    EXPECT_EQ(body.at("choices").at(i).at("logprobs").at("text_offset"), (json::array{0, 3}));
  }
}

TEST(TextAnswer, NumbersTheChoicesOfAllPrompts) {
  AnswerOptions options = Options(2);
  options.prompts = 2;
  TextAnswer answer(std::move(options), {});
  std::string sse;
  ASSERT_TRUE(answer.Add(1, Text("x", v1::Delta::KIND_CONTENT, 1), &sse).ok());
  auto chunks = Chunks(sse, false);
  EXPECT_EQ(chunks.at(0).at("choices").at(0).at("index"), 3);
  EXPECT_EQ(chunks.at(0).at("choices").at(0).at("text"), "x");
  EXPECT_EQ(chunks.at(0).at("object"), "text_completion");
}

}  // namespace
}  // namespace inferd::gateway
