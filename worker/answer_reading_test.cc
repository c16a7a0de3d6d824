// Scripted answers through the stages that a worker's answer takes: the choice's tokens to parts, parts to the wire's
// events.
#include "worker/answer_reading.h"

#include <gtest/gtest.h>

#include <deque>

#include "config/base/status.h"
#include "config/options.h"
#include "engine/generation/choice.h"
#include "engine/template/fallbacks.h"
#include "inferd/v1/inference.pb.h"
#include "worker/event_writer.h"
#include "worker/fake_tokenizer.h"
#include "worker/generation_request.h"

namespace inferd::worker {
namespace {

constexpr char kHermes[] = "<tool_call>\n{\"name\": <function-name>}\n</tool_call> <think></think>";
constexpr char kGranite[] = "<|tool_call|>";  // which the fake tokenizer has as a control token
constexpr char kChannels[] = "<|channel|><|message|>";
constexpr char kTools[] = R"([{"type": "function", "function": {"name": "get_weather"}}])";
constexpr char kCall[] =
    "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zürich\"}}\n</tool_call>";

// What a client makes of the events: pieces of a call are joined by its index.
struct Message {
  std::string content, reasoning;
  std::vector<std::string> calls;  // "id name arguments"
  v1::Finished::Reason reason = v1::Finished::REASON_UNSPECIFIED;
  bool operator==(const Message&) const = default;
};

class AnswerReadingTest : public testing::Test {
 protected:
  AnswerReadingTest() {
    model_.tokenizer = std::make_unique<FakeTokenizer>();
    vocabulary_ = engine::VocabularyOf(*model_.tokenizer, model_.tokenizer->vocabulary_size());
    UseTemplate(kHermes);
    wire_.set_seed(5);
    wire_.mutable_chat()->set_tools_json(kTools);
  }

  void UseTemplate(const char* source) { model_.answer_format = output::RecognizeFormat(source); }

  static std::vector<int32_t> Bytes(std::string_view text) {
    std::vector<int32_t> tokens;
    for (char byte : text) tokens.push_back(static_cast<unsigned char>(byte));
    return tokens;
  }

  engine::GenerationRequest Request() const {
    engine::GenerationRequest request = *ReadRequest(wire_, {1, 2, 3}, MonotonicTime(), std::nullopt);
    EXPECT_EQ(SetAnswerParser(model_, wire_, opens_reasoning_, request), absl::OkStatus());
    return request;
  }

  // The events of a model that writes `answer` and ends; `resumed` is what of it a process before this one gave.
  std::vector<v1::GenerateEvent> Events(const std::vector<int32_t>& answer, const v1::ResumeState* resumed = nullptr,
                                        uint32_t choice_index = 0) {
    engine::GenerationRequest request = Request();
    if (resumed != nullptr) {
      request.resumed = {{.choice = choice_index,
                          .tokens = {resumed->ids().begin(), resumed->ids().end()},
                          .delivered_bytes = resumed->delivered_bytes()}};
    }
    engine::Choice choice(request, choice_index, *output::StopTexts::Create(request.stop),
                          {.most_tokens = 1000, .window = 4096}, vocabulary_, *kernels::SelectKernels(nullptr));
    std::deque<v1::GenerateEvent> events;
    engine::Delta replayed{.choice = choice_index};
    std::optional<engine::Finish> finish = choice.Replay(replayed);
    writer_.Append(std::move(replayed), events);
    std::vector<v1::GenerateEvent> all(events.begin(), events.end());
    for (size_t i = choice.generated(); !finish; ++i) {
      std::vector<float> logits(static_cast<size_t>(vocabulary_.size), -1000.0f);
      logits[static_cast<size_t>(i < answer.size() ? answer[i] : FakeTokenizer::kEnd)] = 0;
      engine::Delta delta{.choice = choice_index};
      finish = choice.Advance(logits, delta);
      events.clear();
      writer_.Append(std::move(delta), events);
      all.insert(all.end(), events.begin(), events.end());
    }
    events.clear();
    writer_.Append(engine::Finished{.choice = choice_index, .reason = finish->reason}, events);
    all.push_back(events.front());
    return all;
  }

  static Message Joined(const std::vector<v1::GenerateEvent>& events) {
    Message message;
    for (const v1::GenerateEvent& event : events) {
      if (event.has_finished()) message.reason = event.finished().reason();
      const v1::Delta& delta = event.delta();
      if (delta.kind() == v1::Delta::KIND_CONTENT) message.content += delta.text();
      if (delta.kind() == v1::Delta::KIND_REASONING) message.reasoning += delta.text();
      if (delta.kind() != v1::Delta::KIND_TOOL_CALL) continue;
      const v1::ToolCallDelta& call = delta.tool_call();
      message.calls.resize(std::max<size_t>(message.calls.size(), call.index() + 1));
      const bool begins = !call.id().empty();
      message.calls[call.index()] += (begins ? call.id() + " " + call.name() + " " : "") + call.arguments();
    }
    return message;
  }

  Message Answer(const std::string& text) { return Joined(Events(Bytes(text))); }

  LoadedModel model_;
  engine::Vocabulary vocabulary_;
  EventWriter writer_{model_};
  v1::GenerateRequest wire_;
  bool opens_reasoning_ = false;
};

TEST_F(AnswerReadingTest, ACallBecomesADeltaOfItsKind) {
  const Message message = Answer(std::string("<think>Hm.</think>Let me see.") + kCall);
  EXPECT_EQ(message.reasoning, "Hm.");
  EXPECT_EQ(message.content, "Let me see.");
  ASSERT_EQ(message.calls.size(), 1u);
  EXPECT_EQ(message.calls[0].substr(9), " get_weather {\"city\": \"Zürich\"}");
  EXPECT_EQ(message.reason, v1::Finished::REASON_TOOL_CALLS);
}

// The gateway tells a worker what came of an answer, event by event; the rest is as if nothing had happened.
TEST_F(AnswerReadingTest, AnAnswerResumedAfterAnyEventIsTheSame) {
  const std::pair<const char*, std::string> cases[] = {
      {kHermes, std::string("<think>Zü</think>Ok ") + kCall + kCall},
      {kChannels,
       "<|channel|>analysis<|message|>Zü<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather "
       "<|constrain|>json<|message|>{\"city\": \"Zürich\"}<|call|><|start|>assistant<|channel|>commentary "
       "to=functions.get_weather<|message|>{}<|call|>"}};
  for (const auto& [source, text] : cases) {
    UseTemplate(source);
    const std::vector<int32_t> answer = Bytes(text);
    const std::vector<v1::GenerateEvent> whole = Events(answer);
    const Message expected = Joined(whole);
    ASSERT_EQ(expected.calls.size(), 2u);
    v1::ResumeState state;
    std::vector<v1::GenerateEvent> joined;
    for (const v1::GenerateEvent& event : whole) {
      std::vector<v1::GenerateEvent> all = joined;
      for (const v1::GenerateEvent& later : Events(answer, &state)) all.push_back(later);
      ASSERT_EQ(Joined(all), expected) << state.ShortDebugString();
      const v1::ToolCallDelta& call = event.delta().tool_call();
      state.mutable_ids()->MergeFrom(event.delta().token_ids());
      state.set_delivered_bytes(state.delivered_bytes() + event.delta().text().size() + call.id().size() +
                                call.name().size() + call.arguments().size());
      joined.push_back(event);
    }
  }
}

TEST_F(AnswerReadingTest, TokensWhoseTextWasNotDeliveredGiveItInOnePiece) {
  v1::ResumeState state;
  for (int32_t token : Bytes(kCall)) state.add_ids(token);
  EXPECT_EQ(Joined(Events(Bytes(kCall), &state)), Answer(kCall));
}

TEST_F(AnswerReadingTest, WhatIsNoCallStaysContent) {
  const Message message = Answer("<tool_call>get the weather</tool_call>");
  EXPECT_EQ(message.content, "<tool_call>get the weather</tool_call>");
  EXPECT_EQ(message.reason, v1::Finished::REASON_STOP);
}

TEST_F(AnswerReadingTest, MarksThatAreControlTokensReachTheParserAndOthersStaySilent) {
  UseTemplate(kGranite);
  std::vector<int32_t> answer = {FakeTokenizer::kMark, FakeTokenizer::kToolCall};
  for (int32_t token : Bytes(R"([{"name": "get_weather", "arguments": {}}])")) answer.push_back(token);
  EXPECT_EQ(Joined(Events(answer)).calls.size(), 1u);
  wire_.mutable_chat()->clear_tools_json();
  EXPECT_EQ(Joined(Events(answer)).content, R"([{"name": "get_weather", "arguments": {}}])");
}

TEST_F(AnswerReadingTest, WithoutToolsCallsAreContent) {
  wire_.mutable_chat()->set_tool_choice_json("\"none\"");
  EXPECT_EQ(Answer(kCall).content, kCall);
  wire_.clear_chat();
  wire_.set_text("plain");
  EXPECT_EQ(Answer("<think>Hm.</think>Yes").content, "<think>Hm.</think>Yes");
}

TEST_F(AnswerReadingTest, TheReasoningMayBeginInThePrompt) {
  opens_reasoning_ = true;
  const Message message = Answer("Hm.</think>Yes");
  EXPECT_EQ(message.reasoning, "Hm.");
  EXPECT_EQ(message.content, "Yes");
}

TEST_F(AnswerReadingTest, OneCallAloneWhereMoreAreNotAllowed) {
  wire_.mutable_chat()->set_parallel_tool_calls(false);
  const std::vector<v1::GenerateEvent> events = Events(Bytes(std::string(kCall) + kCall));
  EXPECT_EQ(Joined(events).calls.size(), 1u);
  EXPECT_EQ(Joined(events).reason, v1::Finished::REASON_TOOL_CALLS);
  EXPECT_LE(events.size(), std::string(kCall).size() + 1) << "nothing is generated after it";
}

TEST_F(AnswerReadingTest, ChoicesHaveIdsOfTheirOwn) {
  EXPECT_NE(Joined(Events(Bytes(kCall), nullptr, 0)).calls, Joined(Events(Bytes(kCall), nullptr, 1)).calls);
}

TEST_F(AnswerReadingTest, ACallThatMustComeIsReadAsOneThatMay) {
  wire_.mutable_chat()->set_tool_choice_json("\"required\"");
  EXPECT_EQ(Answer(kCall).calls.size(), 1u);
}

TEST(ConfiguredTemplate, EveryNameOfTheConfigurationHasOne) {
  for (const config::ChatTemplate choice : {config::ChatTemplate::kChatMl, config::ChatTemplate::kLlama2}) {
    EXPECT_TRUE(chat_template::FindFallback(config::NameOf(choice)));
  }
}

}  // namespace
}  // namespace inferd::worker
