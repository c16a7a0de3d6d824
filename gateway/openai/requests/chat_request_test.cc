#include "gateway/openai/requests/chat_request.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "config/base/status.h"
#include "gateway/openai/requests/completion_request.h"

namespace inferd::gateway {
namespace {

std::string Chat(const std::string& more) {
  return R"({"model":"m","messages":[{"role":"user","content":"hi"}])" + (more.empty() ? "" : "," + more) + "}";
}

// The field that a 400 names; "(ok)" if the body is accepted.
std::string ParamOf(const std::string& body) {
  auto chat = ParseChatRequest(body);
  if (chat.ok()) return "(ok)";
  EXPECT_TRUE(absl::IsInvalidArgument(chat.status())) << chat.status();
  return ToApiError(chat.status()).param;
}

TEST(ChatRequest, OverflowIsStopOrSlide) {
  const auto limits = [](const std::string& fields) { return ParseChatRequest(Chat(fields))->generate.limits(); };
  EXPECT_EQ(limits(R"("n":1)").overflow(), v1::OVERFLOW_UNSPECIFIED);
  EXPECT_EQ(limits(R"("overflow":"stop")").overflow(), v1::OVERFLOW_STOP);
  EXPECT_EQ(limits(R"("overflow":"slide","overflow_keep":9)").overflow(), v1::OVERFLOW_SLIDE);
  EXPECT_EQ(limits(R"("overflow":"slide","overflow_keep":9)").overflow_keep(), 9u);
  EXPECT_EQ(ParamOf(Chat(R"("overflow":"roll")")), "overflow");
  EXPECT_EQ(ParamOf(Chat(R"("overflow":true)")), "overflow");
}

TEST(ChatRequest, ReadsEveryField) {
  auto chat = ParseChatRequest(Chat(
      R"("stream":true,"stream_options":{"include_usage":true},"max_tokens":5,"max_completion_tokens":6,"n":3,
         "stop":["a","b"],"seed":18446744073709551615,"temperature":0.5,"top_p":0.25,"top_k":40,"min_p":0.125,
         "typical_p":0.75,"presence_penalty":-2,"frequency_penalty":2,"repeat_penalty":1.5,"repeat_last_n":-1,
         "logit_bias":{"7":-100,"8":1.5},"logprobs":true,"top_logprobs":4,"ignore_eos":true,"min_tokens":2,
         "grammar":"root ::= \"a\"","chat_template_kwargs":{"x":1},"reasoning_effort":"low","user":"u",
         "priority":"batch","cache_salt":"s","return_token_ids":true,"deadline_ms":1500,"parallel_tool_calls":false)"));
  ASSERT_TRUE(chat.ok()) << chat.status();
  const v1::GenerateRequest& request = chat->generate;
  EXPECT_TRUE(chat->common.stream && chat->common.include_usage && chat->common.return_token_ids);
  EXPECT_EQ(chat->common.deadline, std::chrono::milliseconds(1500));
  EXPECT_EQ(request.limits().max_tokens(), 6u);
  EXPECT_EQ(request.limits().min_tokens(), 2u);
  EXPECT_EQ(request.choices(), 3u);
  EXPECT_EQ(request.stop_size(), 2);
  EXPECT_EQ(request.seed(), 18446744073709551615u);
  EXPECT_EQ(request.sampling().temperature(), 0.5f);
  EXPECT_EQ(request.sampling().top_p(), 0.25f);
  EXPECT_EQ(request.sampling().top_k(), 40);
  EXPECT_EQ(request.sampling().min_p(), 0.125f);
  EXPECT_EQ(request.sampling().typical_p(), 0.75f);
  EXPECT_EQ(request.sampling().presence_penalty(), -2);
  EXPECT_EQ(request.sampling().frequency_penalty(), 2);
  EXPECT_EQ(request.sampling().repeat_penalty(), 1.5f);
  EXPECT_EQ(request.sampling().repeat_last_n(), -1);
  EXPECT_EQ(request.sampling().logit_bias().at(7), -100);
  EXPECT_TRUE(request.sampling().ignore_eos());
  EXPECT_EQ(request.logprobs(), 4u);
  EXPECT_EQ(request.constraint().grammar(), "root ::= \"a\"");
  EXPECT_EQ(request.priority(), v1::PRIORITY_BATCH);
  EXPECT_EQ(request.cache_salt(), "s");
  EXPECT_EQ(request.chat().template_arguments_json(), R"({"x":1,"reasoning_effort":"low"})");
  EXPECT_FALSE(request.chat().parallel_tool_calls());
  EXPECT_TRUE(chat->warnings.empty());
}

TEST(ChatRequest, LeavesUnsetWhatIsAbsentOrNull) {
  auto chat = ParseChatRequest(Chat(R"("temperature":null,"stop":null,"seed":null,"logprobs":null,"max_tokens":null)"));
  ASSERT_TRUE(chat.ok()) << chat.status();
  EXPECT_FALSE(chat->generate.sampling().has_temperature());
  EXPECT_FALSE(chat->generate.has_seed());
  EXPECT_FALSE(chat->generate.has_logprobs());
  EXPECT_FALSE(chat->generate.limits().has_max_tokens());
  EXPECT_FALSE(chat->generate.has_constraint());
}

TEST(ChatRequest, TakesADeadlineOfAYear) {
  EXPECT_EQ(ParseChatRequest(Chat(R"("deadline_ms":31536000000)"))->common.deadline, std::chrono::hours(24 * 365));
  EXPECT_EQ(ParamOf(Chat(R"("deadline_ms":31536000001)")), "deadline_ms");
}

TEST(ChatRequest, NamesUnknownFields) {
  auto chat = ParseChatRequest(Chat(R"("foo":1,"bar":{"a":[]})"));
  ASSERT_TRUE(chat.ok());
  EXPECT_EQ(chat->warnings,
            (std::vector<std::string>{"unknown field 'foo' was ignored", "unknown field 'bar' was ignored"}));
}

TEST(ChatRequest, NamesUnknownFieldsAtEveryDepth) {
  auto chat = ParseChatRequest(
      R"({"messages":[{"role":"user","content":[{"type":"text","text":"a","p":1}],"m":1},
          {"role":"assistant","tool_calls":[{"id":"1","type":"function","c":1,
              "function":{"name":"f","arguments":"{}","d":1}}]}],
          "tools":[{"type":"function","t":1,"function":{"name":"f","strict":true,"parameters":{"x":1},"u":1}}],
          "stream_options":{"usagee":true},"tool_choice":{"type":"function","c":1,"function":{"name":"f","n":1}},
          "response_format":{"type":"json_schema","r":1,"json_schema":{"name":"n","schema":{"y":1},"stricct":true}}})");
  ASSERT_TRUE(chat.ok()) << chat.status();
  std::vector<std::string> expected;
  for (const char* path :
       {"messages[0].content[0].p", "messages[0].m", "messages[1].tool_calls[0].c",
        "messages[1].tool_calls[0].function.d", "tools[0].t", "tools[0].function.u", "stream_options.usagee",
        "tool_choice.c", "tool_choice.function.n", "response_format.r", "response_format.json_schema.stricct"}) {
    expected.push_back(fmt::format("unknown field '{}' was ignored", path));
  }
  std::sort(expected.begin(), expected.end());
  std::sort(chat->warnings.begin(), chat->warnings.end());
  EXPECT_EQ(chat->warnings, expected);
}

TEST(ChatRequest, TakesWhatAsksForNothing) {
  auto chat = ParseChatRequest(Chat(R"("stop":["","a"],"include_stop_str_in_output":false,"stop_token_ids":[],
                                       "guided_json":null,"modalities":["text"])"));
  ASSERT_TRUE(chat.ok()) << chat.status();
  EXPECT_EQ(chat->generate.stop_size(), 1);
  EXPECT_FALSE(chat->generate.has_constraint());
  EXPECT_TRUE(chat->warnings.empty());
}

// Of what the official clients send back of an answer.
TEST(ChatRequest, TakesWhatClientsKeepOfAnAnswer) {
  const auto chat = ParseChatRequest(R"({"messages":[{"role":"user","content":"a"},
      {"role":"assistant","content":"b","refusal":null,"annotations":[],"audio":null,"function_call":null,
       "tool_calls":null,"reasoning_content":null,"parsed":null},
      {"role":"assistant","content":"c","annotations":[{"type":"url_citation"}]}]})");
  ASSERT_TRUE(chat.ok()) << chat.status();
  EXPECT_EQ(chat->warnings, std::vector<std::string>{"unknown field 'messages[2].annotations' was ignored"});
}

TEST(ChatRequest, TakesNamesThatMeanTheSame) {
  const std::pair<const char*, int> limits[] = {{R"("max_tokens":3)", 3},
                                                {R"("n_predict":3)", 3},
                                                {R"("max_new_tokens":3)", 3},
                                                {R"("max_new_tokens":3,"n_predict":3)", 3},
                                                {R"("max_tokens":9,"max_completion_tokens":3)", 3},
                                                {R"("max_tokens":-1)", -1},
                                                {R"("n_predict":-1)", -1}};
  for (const auto& [field, limit] : limits) {
    const auto chat = ParseChatRequest(Chat(field));
    ASSERT_TRUE(chat.ok()) << chat.status();
    EXPECT_EQ(chat->generate.limits().has_max_tokens() ? int(chat->generate.limits().max_tokens()) : -1, limit);
    const auto completion = ParseCompletionRequest(fmt::format(R"({{"prompt":"a",{}}})", field));
    EXPECT_EQ(completion->generate[0].limits().has_max_tokens(), limit >= 0) << "no default where it says no limit";
  }
  const auto repetition = ParseChatRequest(Chat(R"("repetition_penalty":1.5)"));
  EXPECT_EQ(repetition->generate.sampling().repeat_penalty(), 1.5f);
  EXPECT_EQ(repetition->generate.sampling().repeat_last_n(), -1);
  const auto window = ParseChatRequest(Chat(R"("repetition_penalty":1.5,"repeat_last_n":8)"));
  EXPECT_EQ(window->generate.sampling().repeat_last_n(), 8);
  const auto any =
      ParseChatRequest(Chat(R"("tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"any")"));
  EXPECT_EQ(any->generate.chat().tool_choice_json(), "\"required\"");
}

TEST(ChatRequest, ReadsTokensThatStopOrAreAllowed) {
  const auto chat = ParseChatRequest(
      Chat(R"("stop_token_ids":[5,3],"allowed_token_ids":[7],"include_stop_str_in_output":true,"stop":"x")"));
  ASSERT_TRUE(chat.ok()) << chat.status();
  EXPECT_EQ(chat->generate.stop_token_ids_size(), 2);
  EXPECT_EQ(chat->generate.sampling().allowed_token_ids(0), 7);
  EXPECT_TRUE(chat->generate.include_stop());
}

TEST(ChatRequest, EveryNumericFieldRefusesWhatIsNoNumberInItsRange) {
  const char* numbers[] = {"temperature",       "top_p",         "min_p", "typical_p", "presence_penalty",
                           "frequency_penalty", "repeat_penalty"};
  const char* integers[] = {"top_k",         "max_tokens", "max_completion_tokens", "n",
                            "repeat_last_n", "min_tokens", "top_logprobs",          "deadline_ms"};
  for (const char* field : numbers) {
    for (const char* value :
         {"\"1\"", "[]", "{}", "true", "1e999", "-1e999", "9007199254740992", "-2147483648", "-9"}) {
      EXPECT_EQ(ParamOf(Chat(fmt::format("\"{}\":{}", field, value))), field) << value;
    }
  }
  for (const char* field : integers) {
    for (const char* value : {"\"1\"", "[]", "{}", "true", "1.5", "1e999", "-2", "9223372036854775807",
                              "18446744073709551615", "-2147483649", "1e18"}) {
      EXPECT_EQ(ParamOf(Chat(fmt::format("\"logprobs\":true,\"{}\":{}", field, value))), field) << value;
    }
  }
}

TEST(ChatRequest, RefusesWhatWouldRestrictTheOutputElsewhere) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("structural_tag":"x")", "structural_tag"},
      {R"("use_beam_search":true)", "use_beam_search"},
      {R"("stop_token_ids":["1"])", "stop_token_ids"},
      {R"("allowed_token_ids":[-1])", "allowed_token_ids"},
      {R"("allowed_token_ids":1)", "allowed_token_ids"},
      {R"("max_tokens":5,"n_predict":6)", "n_predict"},
      {R"("repeat_penalty":1.2,"repetition_penalty":1.1)", "repetition_penalty"},
      {R"("tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"allowed_tools"})",
       "tool_choice.type"},
      {R"("tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"function"})",
       "tool_choice.function"},
      {R"("functions":[{"name":"f"}])", "functions"},
      {R"("modalities":["text","audio"])", "modalities"},
  };
  for (const auto& [field, param] : cases) EXPECT_EQ(ParamOf(Chat(field)), param) << field;
}

TEST(ChatRequest, RefusesByName) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("n":0)", "n"},
      {R"("n":129)", "n"},
      {R"("best_of":2)", "best_of"},
      {R"("n":2,"best_of":1)", "best_of"},
      {R"("n":2,"best_of":3)", "best_of"},
      {R"("best_of":"1")", "best_of"},
      {R"("temperature":2.01)", "temperature"},
      {R"("top_logprobs":3)", "top_logprobs"},
      {R"("logprobs":1)", "logprobs"},
      {R"("stream":1)", "stream"},
      {R"("stream_options":{"include_usage":"yes"})", "stream_options.include_usage"},
      {R"("stop":1)", "stop"},
      {R"("response_format":{"type":"json_object","schema":1})", "response_format.schema"},
      {R"("stop":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17"])", "stop"},
      {R"("seed":1.5)", "seed"},
      {R"("seed":"1")", "seed"},
      {R"("logit_bias":{"x":1})", "logit_bias"},
      {R"("logit_bias":{"-1":1})", "logit_bias"},
      {R"("logit_bias":{"1":101})", "logit_bias"},
      {R"("logit_bias":[])", "logit_bias"},
      {R"("logit_bias":{"00":1})", "logit_bias"},
      {R"("logit_bias":{"+1":1})", "logit_bias"},
      {R"("response_format":"json")", "response_format"},
      {R"("response_format":{})", "response_format.type"},
      {R"("response_format":{"type":"xml"})", "response_format.type"},
      {R"("response_format":{"type":"json_schema"})", "response_format.json_schema"},
      {R"("response_format":{"type":"json_schema","json_schema":{"schema":1}})", "response_format.json_schema.schema"},
      {R"("mirostat":3)", "mirostat"},
      {R"("mirostat_tau":-1)", "mirostat_tau"},
      {R"("xtc_probability":1.1)", "xtc_probability"},
      {R"("dry_base":0.5)", "dry_base"},
      {R"("dry_sequence_breakers":"x")", "dry_sequence_breakers"},
      {R"("dry_sequence_breakers":[1])", "dry_sequence_breakers"},
      {R"("bad_words":[""])", "bad_words"},
      {R"("tools":{})", "tools"},
      {R"("tools":[{"type":"function"}])", "tools[0].function"},
      {R"("tools":[{"type":"function","function":{"name":1}}])", "tools[0].function.name"},
      {R"("tool_choice":"sometimes")", "tool_choice"},
      {R"("tool_choice":"required")", "tool_choice"},
      {R"("priority":"urgent")", "priority"},
      {R"("user":7)", "user"},
      {R"("model":7)", "model"},
  };
  for (auto [more, param] : cases) {
    std::string body = Chat(more);
    if (param == std::string_view("model")) body = R"({"model":7,"messages":[]})";
    EXPECT_EQ(ParamOf(body), param) << more;
  }
}

TEST(ChatRequest, ReadsTheSamplersOfOtherServers) {
  auto chat = ParseChatRequest(Chat(R"("xtc_probability":0.5,"xtc_threshold":0.25,"dry_multiplier":0.75,"dry_base":2,
      "dry_allowed_length":3,"dry_penalty_last_n":-1,"dry_sequence_breakers":["\n","#"],"mirostat":2,"mirostat_tau":4,
      "mirostat_eta":0.5,"bad_words":["bad","worse"])"));
  ASSERT_TRUE(chat.ok()) << chat.status();
  EXPECT_TRUE(chat->warnings.empty());
  const v1::Sampling& sampling = chat->generate.sampling();
  EXPECT_EQ(sampling.xtc_probability(), 0.5f);
  EXPECT_EQ(sampling.xtc_threshold(), 0.25f);
  EXPECT_EQ(sampling.dry_multiplier(), 0.75f);
  EXPECT_EQ(sampling.dry_base(), 2);
  EXPECT_EQ(sampling.dry_allowed_length(), 3);
  EXPECT_EQ(sampling.dry_penalty_last_n(), -1);
  ASSERT_EQ(sampling.dry_sequence_breakers_size(), 2);
  EXPECT_EQ(sampling.dry_sequence_breakers(0), "\n");
  EXPECT_EQ(sampling.mirostat(), 2);
  EXPECT_EQ(sampling.mirostat_tau(), 4);
  EXPECT_EQ(sampling.mirostat_eta(), 0.5f);
  EXPECT_EQ(sampling.bad_words(1), "worse");
  auto without = ParseChatRequest(Chat(R"("n":1)"));
  EXPECT_FALSE(without->generate.sampling().has_mirostat() || without->generate.sampling().has_dry_multiplier() ||
               without->generate.sampling().has_xtc_probability());
}

TEST(ChatRequest, ShowsNumbersAsPeopleWriteThemAndTheRangeThatHolds) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("temperature":2.5)", "temperature: 2.5 is not in [0, 2]"},
      {R"("typical_p":0)", "typical_p: 0 is not in (0, 1]"},
      {R"("repeat_penalty":1e30)", "repeat_penalty: 1e+30 is not in (0, 10]"},
      {R"("n":1.5)", "n: 1.5 is not an integer in 1..128"},
      {R"("logit_bias":{"07":1})", "logit_bias: the key '07' is not a token id"},
  };
  for (auto [more, message] : cases) EXPECT_EQ(MessageOf(ParseChatRequest(Chat(more)).status()), message);
}

TEST(ChatRequest, ReadsMessages) {
  auto chat = ParseChatRequest(R"({"messages":[
      {"role":"system","content":"s"},
      {"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"name":"bob"},
      {"role":"assistant","content":null,"reasoning_content":"r",
       "tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},
      {"role":"tool","tool_call_id":"c1","content":"42"}]})");
  ASSERT_TRUE(chat.ok()) << chat.status();
  const v1::ChatPrompt& prompt = chat->generate.chat();
  ASSERT_EQ(prompt.messages_size(), 4);
  EXPECT_EQ(prompt.messages(1).content(), "a\nb") << "each text is a line";
  EXPECT_EQ(prompt.messages(1).name(), "bob");
  EXPECT_FALSE(prompt.messages(2).has_content() && prompt.messages(2).has_content());
  EXPECT_NE(prompt.messages(2).tool_calls_json().find("\"name\":\"f\""), std::string::npos);
  EXPECT_EQ(prompt.messages(2).reasoning_content(), "r");
  EXPECT_EQ(prompt.messages(3).tool_call_id(), "c1");
}

TEST(ChatRequest, ReadsRefusalsAndTheOlderFormOfCalls) {
  auto chat = ParseChatRequest(R"({"messages":[
      {"role":"assistant","content":[{"type":"text","text":"a"},{"type":"refusal","refusal":"b"}]},
      {"role":"assistant","content":null,"refusal":"c"},
      {"role":"assistant","function_call":{"name":"f","arguments":"{}"}},
      {"role":"function","name":"f","content":"42"},
      {"role":"assistant","reasoning":"r","tool_calls":[{"id":"1","function":{"name":"f","arguments":{"x":1}}},
                                                       {"id":"2","function":{"name":"g","arguments":null}},
                                                       {"id":"3","function":{"name":"h"}}]}]})");
  ASSERT_TRUE(chat.ok()) << chat.status();
  const v1::ChatPrompt& prompt = chat->generate.chat();
  EXPECT_EQ(prompt.messages(0).content(), "a\nb");
  EXPECT_EQ(prompt.messages(1).content(), "c");
  EXPECT_TRUE(prompt.messages(1).has_content());
  EXPECT_EQ(prompt.messages(2).tool_calls_json(), R"([{"type":"function","function":{"name":"f","arguments":"{}"}}])");
  EXPECT_EQ(prompt.messages(3).role(), "function");
  EXPECT_EQ(prompt.messages(3).content(), "42");
  EXPECT_EQ(prompt.messages(4).reasoning_content(), "r");
  EXPECT_NE(prompt.messages(4).tool_calls_json().find(R"("arguments":{"x":1})"), std::string::npos);
}

TEST(ChatRequest, RefusesWrongMessages) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({})", "messages"},
      {R"({"messages":"hi"})", "messages"},
      {R"({"messages":[]})", "messages"},
      {R"({"messages":["hi"]})", "messages[0]"},
      {R"({"messages":[{"content":"x"}]})", "messages[0].role"},
      {R"({"messages":[{"role":"root","content":"x"}]})", "messages[0].role"},
      {R"({"messages":[{"role":"user"}]})", "messages[0].content"},
      {R"({"messages":[{"role":"user","content":5}]})", "messages[0].content"},
      {R"({"messages":[{"role":"user","content":[5]}]})", "messages[0].content[0]"},
      {R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]})",
       "messages[0].content[0].type"},
      {R"({"messages":[{"role":"user","content":[{"type":"refusal","text":"x"}]}]})", "messages[0].content[0].refusal"},
      {R"({"messages":[{"role":"assistant","tool_calls":[{"id":"x"}]}]})", "messages[0].tool_calls[0].function"},
      {R"({"messages":[{"role":"assistant","function_call":{"arguments":"{}"}}]})", "messages[0].function_call.name"},
      {R"({"messages":[{"role":"assistant","function_call":{"name":"f"},"tool_calls":[{"function":{"name":"g"}}]}]})",
       "messages[0].function_call"},
  };
  for (auto [body, param] : cases) EXPECT_EQ(ParamOf(body), param) << body;
}

TEST(CompletionRequest, ReadsTheFourFormsOfAPrompt) {
  auto one = ParseCompletionRequest(R"({"prompt":"a"})");
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->generate.size(), 1u);
  EXPECT_EQ(one->generate[0].text(), "a");
  EXPECT_EQ(one->generate[0].limits().max_tokens(), 16u);
  auto list = ParseCompletionRequest(R"({"prompt":["a","b"],"echo":true,"logprobs":2})");
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->generate[1].text(), "b");
  EXPECT_TRUE(list->generate[1].prompt_logprobs());
  auto ids = ParseCompletionRequest(R"({"prompt":[1,2,3]})");
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(ids->generate[0].tokens().ids_size(), 3);
  auto id_lists = ParseCompletionRequest(R"({"prompt":[[1,2],[3]]})");
  ASSERT_TRUE(id_lists.ok());
  EXPECT_EQ(id_lists->generate[1].tokens().ids(0), 3);
}

TEST(CompletionRequest, TakesBestOfWhereItIsTheNumberOfChoices) {
  for (const char* fields : {R"("best_of":1)", R"("n":3,"best_of":3)", R"("n":3,"best_of":null)"}) {
    const auto completion = ParseCompletionRequest(fmt::format(R"({{"prompt":"a",{}}})", fields));
    ASSERT_TRUE(completion.ok()) << completion.status();
    EXPECT_TRUE(completion->warnings.empty()) << fields;
  }
  const auto more = ParseCompletionRequest(R"({"prompt":"a","n":2,"best_of":5})");
  EXPECT_EQ(MessageOf(more.status()), "best_of: 5 is not n, which is 2: choosing among more answers is not supported");
}

TEST(CompletionRequest, RefusesWrongPrompts) {
  for (const char* prompt : {"null", "5", "{}", "[]", "[[]]", "[-1]", "[1.5]", "[1,\"a\"]", "[\"a\",1]",
                             "[99999999999]", "[[1],[-1]]", "[[[1]]]"}) {
    auto completion = ParseCompletionRequest(fmt::format(R"({{"prompt":{}}})", prompt));
    ASSERT_TRUE(absl::IsInvalidArgument(completion.status())) << prompt;
    EXPECT_TRUE(ToApiError(completion.status()).param.starts_with("prompt")) << completion.status();
  }
  std::string many = "[\"x\"";
  for (int i = 0; i < 100'000; ++i) many += ",\"x\"";
  EXPECT_TRUE(absl::IsInvalidArgument(ParseCompletionRequest("{\"prompt\":" + many + "]}").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ParseCompletionRequest(R"({"prompt":"a","suffix":"b"})").status()));
}

}  // namespace
}  // namespace inferd::gateway
