#include "gateway/openai/answers/chat_answer.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <iterator>

#include "config/base/json_string.h"
#include "gateway/openai/answers/logprobs.h"
#include "gateway/openai/requests/chat_request.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

// A worker names the calls of one message 0, 1, 2...; more than this is not believed.
constexpr uint32_t kMaxToolCalls = 1024;

json::object LogprobsJson(json::array content) {
  return json::object{{"content", std::move(content)}, {"refusal", nullptr}};
}

json::array DeltaLogprobs(const v1::Delta& delta) {
  json::array content;
  for (const v1::TokenLogprob& logprob : delta.logprobs()) content.push_back(ChatLogprob(logprob));
  return content;
}

// The delta of a tool call: its first piece carries id, type and name, later ones only more of the arguments.
std::string ToolCallDeltaJson(const v1::ToolCallDelta& call) {
  json::object function;
  if (!call.name().empty()) function["name"] = call.name();
  function["arguments"] = call.arguments();
  json::object object;
  object["index"] = call.index();
  if (!call.id().empty()) {
    object["id"] = call.id();
    object["type"] = "function";
  }
  object["function"] = std::move(function);
  return "{\"tool_calls\":[" + json::serialize(object) + "]}";
}

}  // namespace

ChatAnswer::ChatAnswer(AnswerOptions options, bool with_logprobs)
    : ChoicesAnswer(std::move(options)), with_logprobs_(with_logprobs), choices_(options_.prompts * options_.choices) {}

std::span<const FieldName> ChatAnswer::FieldNames() const { return ChatFieldNames(); }

std::string_view ChatAnswer::ObjectName(bool chunk) const {
  return chunk ? "chat.completion.chunk" : "chat.completion";
}

void ChatAnswer::OnStart(uint32_t choice, std::string* sse) {
  if (sse != nullptr) AppendDelta(choice, R"({"role":"assistant","content":""})", nullptr, "", *sse);
}

void ChatAnswer::OnDelta(uint32_t choice, const v1::Delta& delta, std::string* sse) {
  if (sse == nullptr) return Collect(choices_[choice], delta);
  std::string delta_json;
  switch (delta.kind()) {
    case v1::Delta::KIND_PROMPT:
      return;
    case v1::Delta::KIND_TOOL_CALL:
      delta_json = ToolCallDeltaJson(delta.tool_call());
      break;
    default: {
      bool reports = (with_logprobs_ && delta.logprobs_size() > 0) || options_.return_token_ids;
      if (delta.text().empty() && !reports) return;
      delta_json = delta.kind() == v1::Delta::KIND_REASONING ? "{\"reasoning_content\":" : "{\"content\":";
      AppendJsonString(delta.text(), delta_json);
      delta_json.push_back('}');
    }
  }
  AppendDelta(choice, delta_json, &delta, "", *sse);
}

void ChatAnswer::OnFinished(uint32_t choice, const v1::Finished& finished, std::string* sse) {
  choices_[choice].finish_reason = FinishReason(finished.reason());
  if (sse != nullptr) AppendDelta(choice, "{}", nullptr, choices_[choice].finish_reason, *sse);
}

void ChatAnswer::AppendDelta(uint32_t choice, std::string_view delta_json, const v1::Delta* delta,
                             std::string_view finish_reason, std::string& sse) {
  scratch_.clear();
  fmt::format_to(std::back_inserter(scratch_), R"({{"index":{},"delta":{},"logprobs":)", choice, delta_json);
  bool logprobs = with_logprobs_ && delta != nullptr && delta->logprobs_size() > 0;
  scratch_.append(logprobs ? json::serialize(LogprobsJson(DeltaLogprobs(*delta))) : "null");
  if (options_.return_token_ids && delta != nullptr) {
    scratch_.append(fmt::format(",\"token_ids\":[{}]", fmt::join(delta->token_ids(), ",")));
  }
  scratch_.append(",\"finish_reason\":");
  scratch_.append(finish_reason.empty() ? "null" : fmt::format("\"{}\"", finish_reason));
  scratch_.push_back('}');
  AppendChunk(scratch_, sse);
}

void ChatAnswer::Collect(Choice& choice, const v1::Delta& delta) {
  if (delta.kind() == v1::Delta::KIND_PROMPT) return;
  if (delta.kind() == v1::Delta::KIND_TOOL_CALL && delta.tool_call().index() < kMaxToolCalls) {
    const v1::ToolCallDelta& call = delta.tool_call();
    if (choice.tool_calls.size() <= call.index()) choice.tool_calls.resize(call.index() + 1);
    ToolCall& into = choice.tool_calls[call.index()];
    if (!call.id().empty()) into.id = call.id();
    if (!call.name().empty()) into.name = call.name();
    into.arguments.append(call.arguments());
  } else {
    (delta.kind() == v1::Delta::KIND_REASONING ? choice.reasoning : choice.content).append(delta.text());
  }
  if (with_logprobs_) {
    for (const v1::TokenLogprob& logprob : delta.logprobs()) choice.logprobs.push_back(ChatLogprob(logprob));
  }
  if (options_.return_token_ids) {
    for (int32_t id : delta.token_ids()) choice.token_ids.push_back(id);
  }
}

json::object ChatAnswer::ChoiceJson(uint32_t index) {
  Choice& choice = choices_[index];
  json::object message;
  message["role"] = "assistant";
  bool only_calls = !choice.tool_calls.empty() && choice.content.empty();
  message["content"] = only_calls ? json::value(nullptr) : json::value(choice.content);
  message["refusal"] = nullptr;
  if (!choice.reasoning.empty()) message["reasoning_content"] = choice.reasoning;
  if (!choice.tool_calls.empty()) {
    json::array calls;
    for (const ToolCall& call : choice.tool_calls) {
      json::object function{{"name", call.name}, {"arguments", call.arguments}};
      calls.push_back(json::object{{"id", call.id}, {"type", "function"}, {"function", std::move(function)}});
    }
    message["tool_calls"] = std::move(calls);
  }
  json::object object;
  object["index"] = index;
  object["message"] = std::move(message);
  object["logprobs"] = with_logprobs_ ? json::value(LogprobsJson(std::move(choice.logprobs))) : json::value(nullptr);
  if (options_.return_token_ids) object["token_ids"] = std::move(choice.token_ids);
  object["finish_reason"] = json::string_view(choice.finish_reason.data(), choice.finish_reason.size());
  return object;
}

}  // namespace inferd::gateway
