#include "gateway/anthropic/message_answer.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "config/base/json_string.h"
#include "config/base/status.h"
#include "gateway/json/partial_json.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

MessageAnswer::Options Options() { return {.id = "msg_1", .model = "m", .max_tokens = 100}; }

v1::GenerateEvent Accepted() {
  v1::GenerateEvent event;
  event.mutable_accepted()->set_fingerprint("fp_1");
  event.mutable_accepted()->set_model("m");
  event.mutable_accepted()->set_prompt_tokens(10);
  return event;
}

v1::GenerateEvent Text(std::string_view text, v1::Delta::Kind kind = v1::Delta::KIND_CONTENT) {
  v1::GenerateEvent event;
  event.mutable_delta()->set_kind(kind);
  event.mutable_delta()->set_text(std::string(text));
  event.mutable_delta()->add_token_ids(5);
  return event;
}

v1::GenerateEvent Thought(std::string_view text) { return Text(text, v1::Delta::KIND_REASONING); }

v1::GenerateEvent Call(uint32_t index, std::string_view name, std::string_view arguments) {
  v1::GenerateEvent event;
  event.mutable_delta()->set_kind(v1::Delta::KIND_TOOL_CALL);
  v1::ToolCallDelta* call = event.mutable_delta()->mutable_tool_call();
  call->set_index(index);
  if (!name.empty()) call->set_id("call_" + std::to_string(index));
  call->set_name(std::string(name));
  call->set_arguments(std::string(arguments));
  return event;
}

v1::GenerateEvent Finished(v1::Finished::Reason reason, const std::string& stop_text = "", uint32_t tokens = 7) {
  v1::GenerateEvent event;
  event.mutable_finished()->set_reason(reason);
  event.mutable_finished()->set_stop_text(stop_text);
  event.mutable_finished()->mutable_usage()->set_prompt_tokens(10);
  event.mutable_finished()->mutable_usage()->set_cached_prompt_tokens(4);
  event.mutable_finished()->mutable_usage()->set_completion_tokens(tokens);
  return event;
}

std::string Stream(const MessageAnswer::Options& options, const std::vector<v1::GenerateEvent>& events) {
  MessageAnswer answer(options);
  std::string stream;
  for (const auto& event : events) EXPECT_TRUE(answer.Add(0, event, &stream).ok());
  answer.AppendEnd(stream);
  return stream;
}

json::value Whole(const MessageAnswer::Options& options, const std::vector<v1::GenerateEvent>& events) {
  MessageAnswer answer(options);
  for (const auto& event : events) EXPECT_TRUE(answer.Add(0, event, nullptr).ok());
  return json::parse(answer.Body());
}

// Reads a stream that arrives in pieces, and makes the message of it as clients do.
class Reader {
 public:
  void Feed(std::string_view piece) {
    buffer_.append(piece);
    for (size_t end; (end = buffer_.find("\n\n")) != std::string::npos; buffer_.erase(0, end + 2)) {
      TakeRecord(buffer_.substr(0, end));
    }
  }

  json::value Message() {
    EXPECT_TRUE(ended_);
    EXPECT_TRUE(buffer_.empty());
    return message_;
  }

  std::vector<std::string> kinds;

 private:
  void TakeRecord(const std::string& record) {
    const size_t line = record.find('\n');
    ASSERT_NE(line, std::string::npos) << record;
    EXPECT_EQ(record.find('\n', line + 1), std::string::npos) << record;
    const json::value event = json::parse(record.substr(line + 1 + std::string("data: ").size()));
    const std::string type(event.at("type").as_string());
    EXPECT_EQ(record.substr(0, line), "event: " + type);
    kinds.push_back(type);
    EXPECT_FALSE(ended_);
    Take(type, event);
  }

  void Take(const std::string& type, const json::value& event) {
    if (type == "message_start") {
      EXPECT_TRUE(message_.is_null());
      message_ = event.at("message");
      EXPECT_EQ(message_.at("content"), json::array());
      EXPECT_TRUE(message_.at("stop_reason").is_null());
    } else if (type == "content_block_start") {
      EXPECT_FALSE(open_);
      open_ = true;
      content().push_back(event.at("content_block"));
      arguments_.clear();
    } else if (type == "content_block_delta") {
      TakeDelta(event.at("delta"));
    } else if (type == "content_block_stop") {
      EXPECT_TRUE(open_);
      open_ = false;
    } else if (type == "message_delta") {
      EXPECT_FALSE(open_);
      for (const auto& field : event.at("delta").as_object()) message_.as_object()[field.key()] = field.value();
      message_.as_object()["usage"] = event.at("usage");
    } else {
      EXPECT_EQ(type, "message_stop");
      ended_ = true;
    }
    if (event.as_object().contains("index")) {
      EXPECT_EQ(event.at("index").to_number<size_t>() + 1, content().size());
    }
  }

  void TakeDelta(const json::value& delta) {
    EXPECT_TRUE(open_);
    json::object& block = content().back().as_object();
    const json::string& type = delta.at("type").as_string();
    kinds.back() += ":" + std::string(type);
    if (type == "text_delta") {
      block["text"] = std::string(block["text"].as_string()) + std::string(delta.at("text").as_string());
    } else if (type == "thinking_delta") {
      block["thinking"] = std::string(block["thinking"].as_string()) + std::string(delta.at("thinking").as_string());
    } else if (type == "signature_delta") {
      block["signature"] = delta.at("signature");
    } else {
      EXPECT_EQ(type, "input_json_delta");
      arguments_ += std::string(delta.at("partial_json").as_string());
      block["input"] = ParsePartialObject(arguments_);
    }
  }

  json::array& content() { return message_.as_object()["content"].as_array(); }

  std::string buffer_;
  json::value message_;
  std::string arguments_;
  bool open_ = false;
  bool ended_ = false;
};

json::value Joined(const std::string& stream) {
  Reader reader;
  reader.Feed(stream);
  return reader.Message();
}

const std::vector<v1::GenerateEvent>& Mixture() {
  static const std::vector<v1::GenerateEvent> events = {Accepted(),
                                                        Thought("First \"Köln\",\n"),
                                                        Thought("then \U0001F600."),
                                                        Text(""),
                                                        Text("It is\t"),
                                                        Text("späť \\ \u2028 so:"),
                                                        Call(0, "get_weather", ""),
                                                        Call(0, "", R"({"city": "Köln \"D\"", "days": [1, )"),
                                                        Call(0, "", R"(-2.5e1], "x": null})"),
                                                        Call(1, "get_time", "{}"),
                                                        Text("Done"),
                                                        Finished(v1::Finished::REASON_TOOL_CALLS)};
  return events;
}

TEST(MessageAnswer, IsAMessageOfBlocksInTheirOrder) {
  const json::value whole = Whole(Options(), Mixture());
  EXPECT_EQ(whole, json::parse(R"json({
    "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
    "content": [
      {"type": "thinking", "thinking": "First \"Köln\",\nthen 😀.", "signature": "fp_1"},
      {"type": "text", "text": "It is\tspäť \\ \u2028 so:"},
      {"type": "tool_use", "id": "call_0", "name": "get_weather",
       "input": {"city": "Köln \"D\"", "days": [1, -25.0], "x": null}},
      {"type": "tool_use", "id": "call_1", "name": "get_time", "input": {}},
      {"type": "text", "text": "Done"}],
    "stop_reason": "tool_use", "stop_sequence": null, "stop_details": null,
    "usage": {"input_tokens": 6, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 4, "output_tokens": 7}
  })json"));
}

TEST(MessageAnswer, StreamsAllEventsInOrder) {
  Reader reader;
  reader.Feed(Stream(Options(), Mixture()));
  const std::string block = "content_block_";
  const std::vector<std::string> expected = {"message_start",
                                             block + "start",
                                             block + "delta:thinking_delta",
                                             block + "delta:thinking_delta",
                                             block + "delta:signature_delta",
                                             block + "stop",
                                             block + "start",
                                             block + "delta:text_delta",
                                             block + "delta:text_delta",
                                             block + "stop",
                                             block + "start",
                                             block + "delta:input_json_delta",
                                             block + "delta:input_json_delta",
                                             block + "stop",
                                             block + "start",
                                             block + "delta:input_json_delta",
                                             block + "stop",
                                             block + "start",
                                             block + "delta:text_delta",
                                             block + "stop",
                                             "message_delta",
                                             "message_stop"};
  EXPECT_EQ(reader.kinds, expected);
}

// A stream in two pieces, wherever it is cut, and one byte at a time.
TEST(MessageAnswer, StreamThatIsCutAtAnyByteIsTheWholeAnswer) {
  const json::value whole = Whole(Options(), Mixture());
  const std::string stream = Stream(Options(), Mixture());
  for (size_t cut = 0; cut <= stream.size(); ++cut) {
    Reader reader;
    reader.Feed(std::string_view(stream).substr(0, cut));
    reader.Feed(std::string_view(stream).substr(cut));
    EXPECT_EQ(reader.Message(), whole) << cut;
  }
  Reader reader;
  for (const char c : stream) reader.Feed(std::string_view(&c, 1));
  EXPECT_EQ(reader.Message(), whole);
}

// `event` in two deltas, the first of which has `bytes` of its text.
std::vector<v1::GenerateEvent> Cut(const v1::GenerateEvent& event, size_t bytes) {
  std::vector<v1::GenerateEvent> halves(2, event);
  for (size_t half : {0, 1}) {
    v1::Delta& delta = *halves[half].mutable_delta();
    const bool calls = delta.kind() == v1::Delta::KIND_TOOL_CALL;
    std::string& text = calls ? *delta.mutable_tool_call()->mutable_arguments() : *delta.mutable_text();
    text = half == 0 ? text.substr(0, bytes) : text.substr(bytes);
    if (half == 1) delta.mutable_tool_call()->clear_name();
    if (half == 1) delta.mutable_tool_call()->clear_id();
  }
  return halves;
}

TEST(MessageAnswer, HoweverTheWorkerCutsItTheAnswerIsTheSame) {
  const json::value whole = Whole(Options(), Mixture());
  for (size_t i = 0; i < Mixture().size(); ++i) {
    if (!Mixture()[i].has_delta()) continue;
    const v1::Delta& delta = Mixture()[i].delta();
    const std::string text = delta.text() + delta.tool_call().arguments();
    for (size_t bytes = 0; bytes <= text.size(); ++bytes) {
      if (!IsUtf8(text.substr(0, bytes))) continue;
      std::vector<v1::GenerateEvent> events(Mixture().begin(), Mixture().begin() + static_cast<ptrdiff_t>(i));
      for (const auto& half : Cut(Mixture()[i], bytes)) events.push_back(half);
      events.insert(events.end(), Mixture().begin() + static_cast<ptrdiff_t>(i) + 1, Mixture().end());
      EXPECT_EQ(Whole(Options(), events), whole) << i << " " << bytes;
      EXPECT_EQ(Joined(Stream(Options(), events)), whole) << i << " " << bytes;
    }
  }
}

// The model is stopped within a call: whole and streamed, the complete part of its arguments is there.
TEST(MessageAnswer, CallThatBreaksOffHasWhatIsComplete) {
  const std::string arguments = R"({"city": "Köln", "days": [1, 23], "deep": {"a": true}})";
  for (size_t bytes = 0; bytes <= arguments.size(); ++bytes) {
    if (!IsUtf8(arguments.substr(0, bytes))) continue;
    const std::vector<v1::GenerateEvent> events = {Accepted(), Call(0, "f", arguments.substr(0, bytes)),
                                                   Finished(v1::Finished::REASON_LENGTH, "", 100)};
    const json::value whole = Whole(Options(), events);
    EXPECT_EQ(whole.at("stop_reason"), "max_tokens");
    EXPECT_EQ(whole.at("content").at(0).at("input"), json::value(ParsePartialObject(arguments.substr(0, bytes))));
    EXPECT_EQ(Joined(Stream(Options(), events)), whole) << bytes;
  }
}

TEST(MessageAnswer, SaysWhyItEnds) {
  struct Case {
    v1::Finished::Reason reason;
    std::string stop_text;
    uint32_t tokens;
    json::value expected;
  };
  const Case cases[] = {
      {v1::Finished::REASON_STOP, "", 7, {"end_turn", nullptr}},
      {v1::Finished::REASON_STOP, "END", 7, {"stop_sequence", "END"}},
      {v1::Finished::REASON_TOOL_CALLS, "", 7, {"tool_use", nullptr}},
      {v1::Finished::REASON_LENGTH, "", 100, {"max_tokens", nullptr}},
      {v1::Finished::REASON_LENGTH, "", 99, {"model_context_window_exceeded", nullptr}},
  };
  for (const Case& one : cases) {
    const std::vector<v1::GenerateEvent> events = {Accepted(), Text("a"),
                                                   Finished(one.reason, one.stop_text, one.tokens)};
    const json::value whole = Whole(Options(), events);
    EXPECT_EQ((json::value{whole.at("stop_reason"), whole.at("stop_sequence")}), one.expected);
    EXPECT_EQ(Joined(Stream(Options(), events)), whole);
  }
}

TEST(MessageAnswer, WithoutTextHasNoContent) {
  const std::vector<v1::GenerateEvent> events = {Accepted(), Text(""), Finished(v1::Finished::REASON_STOP)};
  EXPECT_EQ(Whole(Options(), events).at("content"), json::array());
  EXPECT_EQ(Joined(Stream(Options(), events)), Whole(Options(), events));
}

TEST(MessageAnswer, OmitsThoughtsWhereTheClientWantsNone) {
  MessageAnswer::Options options = Options();
  options.omits_thinking = true;
  const json::value whole = Whole(options, Mixture());
  EXPECT_EQ(whole.at("content").at(0), (json::value{{"type", "thinking"}, {"thinking", ""}, {"signature", "fp_1"}}));
  EXPECT_EQ(whole.at("content").at(1).at("type"), "text");
  EXPECT_EQ(Joined(Stream(options, Mixture())), whole);
}

TEST(MessageAnswer, WarnsWithTheClientsNames) {
  MessageAnswer::Options options = Options();
  options.warnings = {"unknown field 'x' was ignored"};
  options.names.messages = {"system", "messages[0]", "messages[1].content[2]", "messages[3]"};
  options.names.constraint = "output_config.format";
  const std::pair<const char*, const char*> cases[] = {
      {"chat.messages[0].content: lost", "system: lost"},
      {"chat.messages[1].content: lost", "messages[0].content: lost"},
      {"chat.messages[2].content: lost", "messages[1].content[2].content: lost"},
      {"chat.messages[3].reasoning_content: lost", "messages[3].content: lost"},
      {"chat.messages[3].role: refused", "messages[3].role: refused"},
      {"chat.messages[3]: refused", "messages[3]: refused"},
      {"chat.messages[4].content: of nobody", "messages[4].content: of nobody"},
      {"chat.messages: too long", "messages: too long"},
      {"chat.tools_json[1].function.parameters.properties.a: x", "tools[1].input_schema.properties.a: x"},
      {"chat.tools_json[1].function: has no name", "tools[1]: has no name"},
      {"chat.tool_choice_json: no such tool", "tool_choice: no such tool"},
      {"constraint.json_schema: bad", "output_config.format: bad"},
      {"stop: bad", "stop_sequences: bad"},
  };
  v1::GenerateEvent accepted = Accepted();
  json::array expected = {"unknown field 'x' was ignored"};
  for (const auto& [ours, theirs] : cases) {
    const std::string_view line = ours;
    v1::Warning& warning = *accepted.mutable_accepted()->add_warnings();
    warning.set_field(std::string(line.substr(0, line.find(": "))));
    warning.set_text(std::string(line.substr(line.find(": ") + 2)));
    expected.emplace_back(theirs);
  }
  const std::vector<v1::GenerateEvent> events = {accepted, Text("a"), Finished(v1::Finished::REASON_STOP)};
  EXPECT_EQ(Whole(options, events).at("warnings"), expected);
  EXPECT_EQ(Joined(Stream(options, events)), Whole(options, events));
}

TEST(MessageAnswer, FailsAsItsChoiceDid) {
  v1::GenerateEvent failed = Finished(v1::Finished::REASON_ERROR);
  failed.mutable_finished()->set_error("bad");
  failed.mutable_finished()->set_error_field("stop");
  failed.mutable_finished()->set_error_code(3);
  MessageAnswer answer(Options());
  std::string stream;
  const absl::Status status = answer.Add(0, failed, &stream);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MessageOf(WithField(status, answer.NameOf(FieldOf(status)))), "stop_sequences: bad");
  EXPECT_EQ(stream, "");
}

}  // namespace
}  // namespace inferd::gateway
