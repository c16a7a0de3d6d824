#include "engine/output/answer_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace inferd::output {
namespace {

constexpr char kTools[] = R"([{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object",
  "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "tags": {"type": "array"}}}}},
  {"type": "function", "function": {"name": "now"}}])";

// What a template of each format contains, as RecognizeFormat looks for it.
constexpr char kHermes[] = "<tool_call>\n{\"name\": <function-name>}\n</tool_call> <think></think>";
constexpr char kQwenCoder[] = "<tool_call>\n<function=example_function_name>";
constexpr char kGlm[] = "<tool_call>{{ name }}<arg_key><think></think>";
constexpr char kMistral[] = "[TOOL_CALLS] [AVAILABLE_TOOLS]";
constexpr char kMistralNamed[] = "[TOOL_CALLS]name[ARGS][THINK][/THINK]";
constexpr char kDeepSeek[] = "<think></think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>";
constexpr char kKimi[] = "<|tool_calls_section_begin|><|tool_call_begin|>";
constexpr char kGranite[] = "<|tool_call|>";
constexpr char kLlama[] = "{\"name\": function name, \"parameters\": dictionary of argument name and its value}";
constexpr char kGeneric[] = "{{ messages[0].content }}";
constexpr char kChannels[] = "<|channel|><|message|>";
constexpr char kDsml[] = "{%- set dsml_token = '｜DSML｜' -%}";
constexpr char kMiniMax[] = "<minimax:tool_call>";
constexpr char kHunyuan[] = "'<tool_sep{}>'.format(HYTK) '<think{}>'.format(HYTK)";
constexpr char kFunctionary[] = "<function=example_function_name>";
constexpr char kSolar[] = "<|tool_call:begin|>";
constexpr char kCommand[] = "<|START_THINKING|><|END_THINKING|><|START_ACTION|>";
constexpr char kApertus[] = "'<|tools_prefix|>' '<|inner_prefix|>' '<|inner_suffix|>'";
constexpr char kGemma[] = "<|tool_call>call: <|channel>thought <channel|>";
constexpr char kPython[] = "<|tool_list_start|>";
constexpr char kGigaChat[] = "<|function_call|>";
constexpr char kNemotron[] = "<TOOLCALL>[";
constexpr char kApriel[] = "<tool_calls>[";
constexpr char kMiniMaxJson[] = "<tool_calls>\n";

// All parts as one line: R(reasoning) content C0(id name arguments); neighbours of one kind are joined.
std::string Joined(const std::vector<OutputPart>& parts) {
  std::string text;
  const OutputPart* last = nullptr;
  for (const OutputPart& part : parts) {
    const bool same = last != nullptr && last->kind == part.kind && last->tool_call.index == part.tool_call.index;
    if (part.kind == PartKind::kReasoning) {
      if (same) text.pop_back();
      text += (same ? "" : "R(") + part.text + ")";
    } else if (part.kind == PartKind::kToolCall) {
      if (same) text.pop_back();
      if (!same)
        text += "C" + std::to_string(part.tool_call.index) + "(" + part.tool_call.id + " " + part.tool_call.name + " ";
      text += part.tool_call.arguments + ")";
    } else {
      text += part.text;
    }
    last = &part;
  }
  return text;
}

std::string Parsed(const char* chat_template, std::string_view answer, size_t piece, bool in_reasoning = false,
                   const char* tools = kTools, bool parallel_calls = true) {
  const auto parser = MakeAnswerParser({.format = RecognizeFormat(chat_template),
                                        .tools = ToolSchemas::Parse(tools),
                                        .in_reasoning = in_reasoning,
                                        .parallel_calls = parallel_calls,
                                        .call_id = [](uint32_t index) { return "c" + std::to_string(index); }});
  std::vector<OutputPart> parts;
  for (size_t at = 0; at < answer.size(); at += piece) {
    for (OutputPart& part : parser->Push(answer.substr(at, piece))) parts.push_back(std::move(part));
  }
  for (OutputPart& part : parser->Finish()) parts.push_back(std::move(part));
  for (const OutputPart& part : parts) {
    EXPECT_TRUE(part.kind == PartKind::kToolCall || !part.text.empty());
  }
  return Joined(parts);
}

struct AnswerCase {
  const char* name;
  const char* chat_template;
  const char* answer;
  const char* parts;
};

class Answers : public testing::TestWithParam<AnswerCase> {};

TEST_P(Answers, GiveTheSamePartsInPiecesOfAnySize) {
  const AnswerCase& row = GetParam();
  for (const size_t piece : {1, 2, 3, 7, 1000}) {
    SCOPED_TRACE(piece);
    EXPECT_EQ(Parsed(row.chat_template, row.answer, piece), row.parts);
  }
}

// Wherever the answer was cut, what is given does not depend on how it came, and no mark of a call is in the content.
TEST_P(Answers, GiveTheSamePartsCutAnywhere) {
  const AnswerCase& row = GetParam();
  const std::string_view answer = row.answer;
  uint32_t random = 1;
  for (size_t size = 0; size <= answer.size(); ++size) {
    const std::string whole = Parsed(row.chat_template, answer.substr(0, size), 1000);
    random = random * 1664525 + 1013904223;
    for (const size_t piece : {size_t{1}, size_t{2} + (random >> 16) % 9}) {
      EXPECT_EQ(Parsed(row.chat_template, answer.substr(0, size), piece), whole) << answer.substr(0, size);
    }
    if (std::string_view(row.parts).find("<tool") == std::string_view::npos &&
        row.name != std::string("ShortPartialMark")) {
      EXPECT_EQ(whole.find("<to"), whole.npos) << answer.substr(0, size);
    }
  }
}

TEST(AnswerParser, GivesArgumentsAsTheyAreWritten) {
  const std::pair<const char*, const char*> answers[] = {
      {kHermes, "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"abcdefghijklmnopqrst"},
      {kQwenCoder, "<tool_call>\n<function=get_weather>\n<parameter=city>\nabcdefghijklmnopqrst"},
      {kGlm, "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>abcdefghijklmnopqrst"},
      {kMistralNamed, "[TOOL_CALLS]get_weather[ARGS]{\"city\": \"abcdefghijklmnopqrst"},
      {kGeneric, "{\"name\": \"get_weather\", \"arguments\": {\"city\": \"abcdefghijklmnopqrst"},
      {kPython, "<|tool_call_start|>[get_weather(city='abcdefghijklmnopqrst"},
      {kGemma, "<|tool_call>call:get_weather{city:<|\"|>abcdefghijklmnopqrst"},
      {kDsml,
       "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" "
       "string=\"true\">abcdefghijklmnopqrst"}};
  for (const auto& [chat_template, answer] : answers) {
    const auto parser = MakeAnswerParser({.format = RecognizeFormat(chat_template),
                                          .tools = ToolSchemas::Parse(kTools),
                                          .call_id = [](uint32_t) { return "c"; }});
    size_t deltas = 0;
    for (const char byte : std::string_view(answer)) deltas += parser->Push(std::string_view(&byte, 1)).size();
    EXPECT_GE(deltas, 20u) << answer;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Formats, Answers,
    testing::Values(
        AnswerCase{"Plain", kHermes, "  Hello <b>world</b> \n", "  Hello <b>world</b> \n"},
        AnswerCase{"Reasoning", kHermes, "<think>\nHm. <x>\n</think>\n\nYes.", "R(Hm. <x>)Yes."},
        AnswerCase{"EmptyReasoning", kHermes, "<think>\n\n</think>\n\nYes.", "Yes."},
        AnswerCase{"CutReasoning", kHermes, "<think>So far", "R(So far)"},
        AnswerCase{
            "Hermes", kHermes,
            "Let me see.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Z\\\"}ü\", \"days\": "
            "1.50}}\n</tool_call>",
            "Let me see.C0(c0 get_weather {\"city\": \"Z\\\"}ü\", \"days\": 1.50})"},
        AnswerCase{"HermesTwice", kHermes,
                   "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n{\"arguments\": "
                   "{\"city\": \"x\"}, \"name\": \"get_weather\"}\n</tool_call>\n",
                   "C0(c0 now {})C1(c1 get_weather {\"city\": \"x\"})"},
        AnswerCase{"HermesMarkInArguments", kHermes,
                   "<tool_call>{\"name\": \"now\", \"arguments\": {\"a\": \"</tool_call>\"}}</tool_call>after",
                   "C0(c0 now {\"a\": \"</tool_call>\"})after"},
        AnswerCase{"HermesArgumentsAsText", kHermes,
                   "<tool_call>{\"name\": \"now\", \"arguments\": \"{\\\"a\\\": 1}\"}</tool_call>",
                   "C0(c0 now {\"a\": 1})"},
        AnswerCase{"HermesWithoutEnd", kHermes, "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}", "C0(c0 now {})"},
        AnswerCase{"HermesCut", kHermes, "Ok <tool_call>\n{\"name\": \"now\", \"arg", "Ok"},
        AnswerCase{"HermesCutArguments", kHermes, "<tool_call>{\"name\": \"now\", \"arguments\": {\"a\": [1, ",
                   "C0(c0 now {\"a\": [1, )"},
        AnswerCase{"HermesNoCall", kHermes, "The <tool_call> mark", "The<tool_call> mark"},
        AnswerCase{"HermesBadJson", kHermes, "<tool_call>{name: 1}</tool_call>x", "<tool_call>{name: 1}</tool_call>x"},
        AnswerCase{"ReasoningThenCall", kHermes,
                   "<think>a</think>\n<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>",
                   "R(a)C0(c0 now {})"},
        AnswerCase{"PartialMark", kHermes, "a <thin <tool_cal", "a <thin "},
        AnswerCase{"ShortPartialMark", kHermes, "a <t", "a <t"},
        AnswerCase{
            "QwenCoder", kQwenCoder,
            "<tool_call>\n<function=get_weather>\n<parameter=city>\nNew\nYork\n</parameter>\n<parameter=days>\n3\n"
            "</parameter>\n<parameter=tags>\n[1, \"a\"]\n</parameter>\n</function>\n</tool_call>",
            "C0(c0 get_weather {\"city\": \"New\\nYork\", \"days\": 3, \"tags\": [1, \"a\"]})"},
        AnswerCase{"Glm", kGlm,
                   "<think>t</think>\n<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>12</arg_value>\n"
                   "<arg_key>days</arg_key>\n<arg_value>12</arg_value>\n</tool_call>",
                   "R(t)C0(c0 get_weather {\"city\": \"12\", \"days\": 12})"},
        AnswerCase{"QwenCoderCut", kQwenCoder,
                   "<tool_call>\n<function=get_weather>\n<parameter=city>\nNew \"York\n</para",
                   "C0(c0 get_weather {\"city\": \"New \\\"York)"},
        AnswerCase{"QwenCoderTwice", kQwenCoder,
                   "<tool_call>\n<function=now>\n</function>\n<function=now>\n<parameter=tags>\n[1]\n</parameter>\n"
                   "</function>\n</tool_call>x",
                   "C0(c0 now {})C1(c1 now {\"tags\": \"[1]\"})x"},
        AnswerCase{"QwenCoderNoCall", kQwenCoder, "<tool_call> is a mark", "<tool_call> is a mark"},
        AnswerCase{"Seed", "<function=example_function_name><seed:tool_call>",
                   "Ok<seed:tool_call>\n<function=get_weather>\n<parameter=city>\nX</parameter>\n</function>\n"
                   "</seed:tool_call>",
                   "OkC0(c0 get_weather {\"city\": \"\\nX\"})"},
        AnswerCase{"GlmOneLine", kGlm,
                   "<tool_call>get_weather<arg_key>tags</arg_key><arg_value>[1, 2] </arg_value></tool_call>.",
                   "C0(c0 get_weather {\"tags\": [1, 2]})."},
        AnswerCase{"GlmNoCall", kGlm, "A <tool_call> mark of it", "A<tool_call> mark of it"},
        AnswerCase{"Generic", kGeneric, "Ok\n<tool_call>{\"name\": \"now\", \"arguments\": {\"a\": 1}}</tool_call>",
                   "OkC0(c0 now {\"a\": 1})"},
        AnswerCase{"GenericBare", kGeneric, "{\"name\": \"now\", \"arguments\": {\"a\": 1}}", "C0(c0 now {\"a\": 1})"},
        AnswerCase{"GenericBareCut", kGeneric, "{\"name\": \"no", ""},
        AnswerCase{"GenericJsonCut", kGeneric, "{\"name\": \"Ad", "{\"name\": \"Ad"},
        AnswerCase{"Mistral", kMistral,
                   "[TOOL_CALLS] [{\"name\": \"get_weather\", \"arguments\": {\"city\": \"x\"}}, {\"name\": \"now\", "
                   "\"arguments\": {}, \"id\": \"abcdefghi\"}]",
                   "C0(c0 get_weather {\"city\": \"x\"})C1(c1 now {})"},
        AnswerCase{
            "MistralNamed", kMistralNamed,
            "[THINK]t[/THINK]Hi[TOOL_CALLS]get_weather[CALL_ID]123456789[ARGS]{\"city\": \"x\"}[TOOL_CALLS]now[ARGS]{}",
            "R(t)HiC0(c0 get_weather {\"city\": \"x\"})C1(c1 now {})"},
        AnswerCase{"DeepSeekR1", kDeepSeek,
                   "<think>t</"
                   "think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{\"a\": "
                   "1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
                   "R(t)C0(c0 now {\"a\": 1})"},
        AnswerCase{"DeepSeekV3", kDeepSeek,
                   "Ok<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>{\"a\": 1}<｜tool▁call▁end｜>"
                   "<｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
                   "OkC0(c0 now {\"a\": 1})C1(c1 now {})"},
        AnswerCase{
            "Kimi", kKimi,
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{\"a\": 1}"
            "<|tool_call_end|><|tool_calls_section_end|>",
            "C0(c0 now {\"a\": 1})"},
        AnswerCase{"Granite", kGranite, "<|tool_call|>[{\"name\": \"now\", \"arguments\": {\"a\": [1]}}]",
                   "C0(c0 now {\"a\": [1]})"},
        AnswerCase{"LlamaBare", kLlama, "{\"name\": \"now\", \"parameters\": {\"a\": 1}}", "C0(c0 now {\"a\": 1})"},
        AnswerCase{
            "LlamaSeveral", kLlama,
            "{\"type\": \"function\", \"name\": \"now\", \"parameters\": {}}; {\"name\": \"now\", \"parameters\": {}}",
            "C0(c0 now {})C1(c1 now {})"},
        AnswerCase{"LlamaMarked", kLlama, "<|python_tag|>{\"name\": \"now\", \"parameters\": {}}", "C0(c0 now {})"},
        AnswerCase{"LlamaJsonThatIsNoCall", kLlama, "{\"name\": \"Ada\", \"age\": 36} is JSON.",
                   "{\"name\": \"Ada\", \"age\": 36} is JSON."},
        AnswerCase{"LlamaText", kLlama, "Use {\"name\": \"now\", \"parameters\": {}}",
                   "Use {\"name\": \"now\", \"parameters\": {}}"},
        AnswerCase{"Channels", kChannels,
                   "<|channel|>analysis<|message|>Hm < 3.<|end|><|start|>assistant<|channel|>final<|message|>Yes <b>.",
                   "R(Hm < 3.)Yes <b>."},
        AnswerCase{"ChannelsCall", kChannels,
                   "<|channel|>analysis<|message|>t<|end|><|start|>assistant<|channel|>commentary to=functions.now "
                   "<|constrain|>json<|message|>{\"a\": 1}<|call|>",
                   "R(t)C0(c0 now {\"a\": 1})"},
        AnswerCase{"Dsml", kDsml,
                   "Ok\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter "
                   "name=\"city\" string=\"true\">Zürich\n</｜DSML｜parameter>\n<｜DSML｜parameter name=\"days\" "
                   "string=\"false\">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"now\">\n"
                   "</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
                   "OkC0(c0 get_weather {\"city\": \"Zürich\\n\", \"days\": 3})C1(c1 now {})"},
        AnswerCase{"DsmlTextThatLooksLikeANumber", kDsml,
                   "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" "
                   "string=\"true\">12</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
                   "C0(c0 get_weather {\"city\": \"12\"})"},
        AnswerCase{"MiniMax", kMiniMax,
                   "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">a < b</parameter>\n"
                   "<parameter name=\"tags\">[1]</parameter>\n</invoke>\n<invoke name=\"now\">\n</invoke>\n"
                   "</minimax:tool_call>",
                   "C0(c0 get_weather {\"city\": \"a < b\", \"tags\": [1]})C1(c1 now {})"},
        AnswerCase{"Hunyuan", kHunyuan,
                   "<think:opensource>t</think:opensource><tool_calls:opensource>\n<tool_call:opensource>get_weather"
                   "<tool_sep:opensource>\n<arg_key:opensource>city</arg_key:opensource>\n<arg_value:opensource>x"
                   "</arg_value:opensource>\n</tool_call:opensource>\n<tool_call:opensource>now<tool_sep:opensource>\n"
                   "</tool_call:opensource>\n</tool_calls:opensource>",
                   "R(t)C0(c0 get_weather {\"city\": \"x\"})C1(c1 now {})"},
        AnswerCase{"Functionary", kFunctionary,
                   "Ok <function=get_weather>{\"city\": \"x\"}</function>\n<function=now>{}</function>",
                   "OkC0(c0 get_weather {\"city\": \"x\"})C1(c1 now {})"},
        AnswerCase{"Solar", kSolar,
                   "<|tool_calls|><|tool_call:begin|>a1b2c3d4e5<|tool_call:name|>now<|tool_call:args|>{\"a\": 1}"
                   "<|tool_call:end|><|tool_call:begin|>a1b2c3d4e6<|tool_call:name|>now<|tool_call:args|>{}"
                   "<|tool_call:end|>",
                   "C0(c0 now {\"a\": 1})C1(c1 now {})"},
        AnswerCase{"Command", kCommand,
                   "<|START_THINKING|>t<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": "
                   "\"get_weather\", \"parameters\": {\"city\": \"x\"}},\n    {\"tool_call_id\": \"1\", "
                   "\"tool_name\": \"now\", \"parameters\": {}}\n]<|END_ACTION|>",
                   "R(t)C0(c0 get_weather {\"city\": \"x\"})C1(c1 now {})"},
        AnswerCase{"Apertus", kApertus,
                   "<|inner_prefix|>t<|inner_suffix|><|tools_prefix|>[{\"get_weather\": {\"city\": \"x\"}}, {\"now\": "
                   "{}}]<|tools_suffix|>",
                   "R(t)C0(c0 get_weather {\"city\": \"x\"})C1(c1 now {})"},
        AnswerCase{
            "Gemma", kGemma,
            "<|channel>thought\nt<channel|>Ok<|tool_call>call:get_weather{city:<|\"|>Zü \"<rich>\"<|\"|>,days:-1.5,"
            "tags:[true,null,{k:<|\"|>v<|\"|>}]}<tool_call|><|tool_call>call:now{}<tool_call|>",
            "R(t)OkC0(c0 get_weather {\"city\": \"Zü \\\"<rich>\\\"\", \"days\": -1.5, \"tags\": [true, null, "
            "{\"k\": \"v\"}]})C1(c1 now {})"},
        AnswerCase{"GemmaAnswersInReasoning", kGemma, "<|channel>thoughtful<channel|>x", "R(ful)x"},
        AnswerCase{"GemmaCut", kGemma, "<|tool_call>call:get_weather{city:<|\"|>Zü<|",
                   "C0(c0 get_weather {\"city\": \"Zü)"},
        AnswerCase{"GemmaNoCall", kGemma, "<|tool_call>calls <tool_call|>", "<|tool_call>calls <tool_call|>"},
        AnswerCase{"Python", kPython,
                   "Ok<|tool_call_start|>[get_weather(city='Zü\\'\"\\n\\x41\\u00e9\\U0001F600\\d', days=3, tags=[True, "
                   "None, (1, -2.5), {'k': \"v\", }]), now()]<|tool_call_end|> Done",
                   "OkC0(c0 get_weather {\"city\": \"Zü'\\\"\\n\\u0041\\u00e9\\ud83d\\ude00\\\\d\", \"days\": 3, "
                   "\"tags\": [true, null, [1, -2.5], {\"k\": \"v\"}]})C1(c1 now {})Done"},
        AnswerCase{"PythonCut", kPython, "<|tool_call_start|>[get_weather(city='a', days=1",
                   "C0(c0 get_weather {\"city\": \"a\", \"days\": )"},
        AnswerCase{"PythonNoCall", kPython, "<|tool_call_start|>a list", "<|tool_call_start|>a list"},
        AnswerCase{"GigaChat", kGigaChat, "<|function_call|>{\"name\": \"now\", \"arguments\": {\"a\": 1}}",
                   "C0(c0 now {\"a\": 1})"},
        AnswerCase{"Nemotron", kNemotron,
                   "<TOOLCALL>[{\"name\": \"now\", \"arguments\": {}}, {\"name\": \"now\", \"arguments\": "
                   "{}}]</TOOLCALL>x",
                   "C0(c0 now {})C1(c1 now {})x"},
        AnswerCase{"Apriel", kApriel,
                   "<tool_calls>[{\"name\": \"now\", \"arguments\": {\"a\": 1}, \"id\": \"call00001\"}]</tool_calls>",
                   "C0(c0 now {\"a\": 1})"},
        AnswerCase{"MiniMaxJson", kMiniMaxJson,
                   "Ok\n<tool_calls>\n{\"name\": \"now\", \"arguments\": {}}\n{\"name\": \"now\", \"arguments\": "
                   "{\"a\": 1}}\n</tool_calls>x",
                   "OkC0(c0 now {})C1(c1 now {\"a\": 1})x"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(AnswerParser, GivesContentAsItComes) {
  const auto parser = MakeAnswerParser({.format = RecognizeFormat(kHermes), .tools = ToolSchemas::Parse(kTools)});
  EXPECT_EQ(Joined(parser->Push("Hello")), "Hello");
  EXPECT_EQ(Joined(parser->Push(" wor")), " wor");
  EXPECT_EQ(Joined(parser->Push("ld <")), "ld");  // the mark of a call may begin here
  EXPECT_EQ(Joined(parser->Push("3")), " <3");
  EXPECT_FALSE(parser->has_tool_calls());
}

TEST(AnswerParser, BeginsInTheReasoningThatThePromptOpened) {
  EXPECT_EQ(Parsed(kHermes, "Hm.</think>Yes", 3, /*in_reasoning=*/true), "R(Hm.)Yes");
  const AnswerFormat format = RecognizeFormat(kHermes);
  EXPECT_TRUE(EndsInReasoning(format, "<|im_start|>assistant\n<think>\n"));
  EXPECT_FALSE(EndsInReasoning(format, "<|im_start|>assistant\n<think>\n\n</think>\n\n"));
  EXPECT_FALSE(EndsInReasoning(format, "<|im_start|>assistant\n"));
}

TEST(AnswerParser, AnAnswerThatIsACallGivesNothingOfACutMark) {
  for (const auto& [chat_template, cut] : {std::pair{kHermes, "<"}, {kLlama, "{\""}, {kLlama, " {"}}) {
    for (const bool must_call : {false, true}) {
      const auto parser = MakeAnswerParser(
          {.format = RecognizeFormat(chat_template), .tools = ToolSchemas::Parse(kTools), .must_call = must_call});
      parser->Push(cut);
      EXPECT_EQ(Joined(parser->Finish()), must_call ? "" : cut);
    }
  }
}

TEST(AnswerParser, WithoutToolsCallsAreContent) {
  EXPECT_EQ(Parsed(kHermes, "<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>", 4, false, "[]"),
            "<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>");
}

TEST(AnswerParser, ChannelsWithoutToolsOrHeadersAreContent) {
  EXPECT_EQ(Parsed(kChannels, "<|channel|>commentary to=functions.now<|message|>{}<|call|>", 3, false, "[]"), "{}");
  for (const size_t piece : {1, 2, 100}) EXPECT_EQ(Parsed(kChannels, "Hello < there", piece), "Hello < there");
}

TEST(AnswerParser, EndsWithTheFirstCallWhereOneIsAllowed) {
  constexpr char kTwo[] =
      "Ok <tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call><tool_call>{\"name\": \"now\", "
      "\"arguments\": {}}</tool_call> More";
  constexpr char kList[] = "[TOOL_CALLS] [{\"name\": \"now\", \"arguments\": {}}, {\"name\": \"now\"}] More";
  constexpr char kMessages[] =
      "<|channel|>commentary to=functions.now<|message|>{}<|call|><|start|>assistant<|channel|>commentary "
      "to=functions.now<|message|>{}<|call|>";
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{500}}) {
    EXPECT_EQ(Parsed(kHermes, kTwo, piece, false, kTools, /*parallel_calls=*/false), "OkC0(c0 now {})");
    EXPECT_EQ(Parsed(kMistral, kList, piece, false, kTools, /*parallel_calls=*/false), "C0(c0 now {})");
    EXPECT_EQ(Parsed(kChannels, kMessages, piece, false, kTools, /*parallel_calls=*/false), "C0(c0 now {})");
  }
}

TEST(AnswerParser, LongAnswersTakeLinearTime) {
  std::string answer = "<tool_call>{\"name\": \"now\", \"arguments\": {\"a\": \"";
  answer += std::string(2'000'000, 'x') + "\"}}</tool_call>";
  EXPECT_THAT(Parsed(kHermes, answer, 4), testing::StartsWith("C0(c0 now {\"a\": \"xxx"));
}

TEST(RecognizeFormat, ListsTheMarkersThatMustBeSeen) {
  EXPECT_THAT(RecognizeFormat(kMistralNamed).Markers(),
              testing::UnorderedElementsAre("[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]"));
  EXPECT_THAT(RecognizeFormat("{{ messages[0].content }}").Markers(),
              testing::UnorderedElementsAre("<tool_call>", "</tool_call>"));
}

TEST(ToolSchemas, TakesAnythingForNoTools) {
  for (const char* json : {"", "{", "{}", "[1, null, {\"function\": 3}]", "[{\"function\": {\"name\": 1}}]"}) {
    EXPECT_TRUE(ToolSchemas::Parse(json).empty()) << json;
  }
}

}  // namespace
}  // namespace inferd::output
