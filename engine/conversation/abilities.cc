#include "engine/conversation/abilities.h"

#include <boost/json.hpp>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

#include "config/base/status.h"
#include "engine/conversation/content.h"

namespace inferd::conversation {
namespace {

namespace json = boost::json;
using chat_template::ChatTemplate;
using chat_template::RenderedPrompt;

// Words that no template has.
constexpr char kFirst[] = "Zqfirst", kSecond[] = "Zqsecond", kThird[] = "Zqthird", kFourth[] = "Zqfourth",
               kFunction[] = "zqfunction", kKey[] = "zqkey", kValue[] = "Zqvalue", kOther[] = "Zqother",
               kResult[] = "Zqresult";
constexpr char kLongId[] = "call_zq0123456789abcdef", kShortId[] = "zq0000001";

constexpr std::string_view kShownCall[] = {kFirst, kFunction, kValue};

json::object Message(const char* role, json::value content) {
  return {{"role", role}, {"content", std::move(content)}};
}
json::object User(const char* content) { return Message("user", content); }
json::object Assistant(const char* content) { return Message("assistant", content); }
json::object System(const char* content) { return Message("system", content); }

json::object Call(const char* id, json::value arguments) {
  return {{"id", id},
          {"type", "function"},
          {"function", json::object{{"name", kFunction}, {"arguments", std::move(arguments)}}}};
}
json::object Calling(json::value content, json::array calls) {
  json::object message = Message("assistant", std::move(content));
  message["tool_calls"] = std::move(calls);
  return message;
}
json::object Result(const char* id, const char* content) {
  json::object message = Message("tool", content);
  message["tool_call_id"] = id;
  message["name"] = kFunction;
  return message;
}
json::object ArgumentsObject(const char* value) { return {{kKey, value}}; }

class Prober {
 public:
  Prober(const ChatTemplate& chat_template, const json::object& model) : template_(chat_template), model_(model) {}

  absl::StatusOr<Abilities> Probe();

 private:
  // The prompt; empty where the template refuses.
  std::string Render(json::array messages, const json::value* tools = nullptr);
  bool Shows(json::array messages, std::initializer_list<std::string_view> marks) {
    return HasAll(Render(std::move(messages), tools_), marks);
  }
  static bool HasAll(std::string_view prompt, std::initializer_list<std::string_view> marks) {
    return HasAll(prompt, std::span(marks.begin(), marks.size()));
  }
  static bool HasAll(std::string_view prompt, std::span<const std::string_view> marks) {
    for (std::string_view mark : marks) {
      if (prompt.find(mark) == std::string_view::npos) return false;
    }
    return true;
  }
  Shown ProbeMessages();
  void ProbeCalls(Shown& shown);
  std::string RenderCall(const char* id, const json::value& arguments);
  void ProbeTools(Abilities& abilities);
  std::string ProbeReasoning();

  const ChatTemplate& template_;
  const json::object& model_;
  const json::value* tools_ = nullptr;
  bool text_content_ = true;
  absl::Status limit_;       // the first that a render passed; none is tried after it
  absl::Status last_error_;  // of the last render
};

json::value Tools() {
  const json::object property{{"type", "string"}, {"description", kSecond}};
  const json::object parameters{
      {"type", "object"}, {"properties", json::object{{kKey, property}}}, {"required", json::array{kKey}}};
  json::object function{{"name", kFunction}, {"description", kFirst}, {"parameters", parameters}};
  return json::array{json::object{{"type", "function"}, {"function", std::move(function)}}};
}

std::string Prober::Render(json::array messages, const json::value* tools) {
  if (!text_content_) ContentAsParts(messages);
  json::object request{{"messages", std::move(messages)}, {"add_generation_prompt", true}};
  if (tools != nullptr) request["tools"] = *tools;
  const std::tm date{.tm_mday = 1, .tm_year = 126};
  if (!limit_.ok()) return {};
  absl::StatusOr<RenderedPrompt> prompt = template_.Render(request, model_, date);
  last_error_ = prompt.status();
  if (absl::IsResourceExhausted(prompt.status())) limit_ = prompt.status();
  return prompt.ok() ? prompt->Text() : std::string();
}

// With a result behind it or without: some templates ask for one, some know none.
std::string Prober::RenderCall(const char* id, const json::value& arguments) {
  const json::object call = Calling("", {Call(id, arguments)});
  std::string prompt = Render({User(kFirst), call, Result(id, kResult)}, tools_);
  return HasAll(prompt, kShownCall) ? prompt : Render({User(kFirst), call}, tools_);
}

void Prober::ProbeCalls(Shown& shown) {
  const json::value object = ArgumentsObject(kValue);
  const std::string text = json::serialize(object);
  shown.any_call_id =
      HasAll(RenderCall(kLongId, object), kShownCall) || HasAll(RenderCall(kLongId, json::value(text)), kShownCall);
  const char* const id = shown.any_call_id ? kLongId : kShortId;
  const auto calling = [&](const json::value& arguments, const char* content = "") {
    return Calling(content, {Call(id, arguments)});
  };
  // An object printed as Python prints one is not what the template means.
  const std::string of_object = RenderCall(id, object);
  const bool as_object = HasAll(of_object, kShownCall);
  const bool as_text = HasAll(RenderCall(id, json::value(text)), kShownCall);
  const bool python = of_object.find(fmt::format("'{}': '{}'", kKey, kValue)) != std::string::npos;
  shown.object_arguments = as_object && !(python && as_text);
  shown.calls = as_object || as_text;
  shown.text_arguments = HasAll(RenderCall(id, json::value(kValue)), kShownCall);
  if (!shown.calls) return;
  const json::value arguments = shown.object_arguments ? object : json::value(text);
  const json::value other = shown.object_arguments ? json::value(ArgumentsObject(kOther))
                                                   : json::value(json::serialize(ArgumentsObject(kOther)));
  const char* const second_id = shown.any_call_id ? "call_zq0123456789abcdeg" : "zq0000002";
  shown.results = Shows({User(kFirst), calling(arguments), Result(id, kResult)}, {kFirst, kValue, kResult});
  shown.several_calls = Shows({User(kFirst), Calling("", {Call(id, arguments), Call(second_id, other)}),
                               Result(id, kResult), Result(second_id, kSecond)},
                              {kFirst, kValue, kOther, kResult, kSecond});
  shown.content_with_calls =
      Shows({User(kFirst), calling(arguments, kSecond), Result(id, kResult)}, {kFirst, kSecond, kValue, kResult});
  const std::string null = Render({User(kFirst), Calling(nullptr, {Call(id, arguments)}), Result(id, kResult)}, tools_);
  const std::string empty = Render({User(kFirst), calling(arguments), Result(id, kResult)}, tools_);
  shown.null_content = HasAll(null, {kFirst, kValue, kResult}) && null.size() <= empty.size();
}

Shown Prober::ProbeMessages() {
  Shown shown;
  shown.system = Shows({System(kFirst), User(kSecond)}, {kFirst, kSecond});
  shown.developer = Shows({Message("developer", kFirst), User(kSecond)}, {kFirst, kSecond});
  shown.systems_in_a_row = Shows({System(kFirst), System(kSecond), User(kThird)}, {kFirst, kSecond, kThird});
  shown.later_system =
      Shows({User(kFirst), Assistant(kSecond), System(kThird), User(kFourth)}, {kFirst, kSecond, kThird, kFourth});
  shown.users_in_a_row =
      Shows({User(kFirst), User(kSecond)}, {kFirst, kSecond}) &&
      Shows({User(kFirst), Assistant(kSecond), User(kThird), User(kFourth)}, {kFirst, kSecond, kThird, kFourth});
  shown.assistants_in_a_row =
      Shows({User(kFirst), Assistant(kSecond), Assistant(kThird), User(kFourth)}, {kFirst, kSecond, kThird, kFourth});
  shown.empty_assistant = Shows({User(kFirst), Assistant(""), User(kSecond)}, {kFirst, kSecond});
  shown.assistant_first = Shows({Assistant(kFirst), User(kSecond)}, {kFirst, kSecond});
  shown.lone_results = Shows({User(kFirst), Assistant(kSecond), Result(kShortId, kResult)}, {kFirst, kSecond, kResult});
  ProbeCalls(shown);
  return shown;
}

void Prober::ProbeTools(Abilities& abilities) {
  const json::value tools = Tools();
  abilities.tools = HasAll(Render({User(kThird)}, &tools), {kFunction, kFirst, kThird});
}

std::string Prober::ProbeReasoning() {
  constexpr const char* kFields[] = {"reasoning_content", "reasoning", "thinking"};
  for (const char* field : kFields) {
    json::object answer = Assistant(kSecond);
    json::object call = Calling("", {Call(kShortId, ArgumentsObject(kValue))});
    answer[field] = kThird;
    call[field] = kThird;
    if (Shows({User(kFirst), answer}, {kThird}) || Shows({User(kFirst), call, Result(kShortId, kResult)}, {kThird})) {
      return field;
    }
  }
  return kFields[0];
}

absl::StatusOr<Abilities> Prober::Probe() {
  Abilities abilities;
  const bool shows_text = Shows({User(kFirst)}, {kFirst});
  const absl::Status error = last_error_;
  if (!shows_text && limit_.ok()) {
    text_content_ = false;
    if (!Shows({User(kFirst)}, {kFirst})) {
      if (!error.ok()) return FailedPrecondition("chat template: refuses a user's message: {}", MessageOf(error));
      return FailedPrecondition("chat template: the text of a user's message is not in the prompt");
    }
  }
  abilities.text_content = text_content_;
  abilities.plain = ProbeMessages();
  abilities.reasoning_field = ProbeReasoning();
  ProbeTools(abilities);
  const json::value tools = Tools();
  tools_ = &tools;
  abilities.with_tools = ProbeMessages();
  if (!limit_.ok()) {
    return FailedPrecondition("chat template: a conversation of a few words passes a limit: {}", MessageOf(limit_));
  }
  return abilities;
}

}  // namespace

absl::StatusOr<Abilities> ProbeAbilities(const ChatTemplate& chat_template, const json::object& model) {
  return Prober(chat_template, model).Probe();
}

}  // namespace inferd::conversation
