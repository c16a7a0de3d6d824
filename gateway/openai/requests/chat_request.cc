#include "gateway/openai/requests/chat_request.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "config/base/status.h"
#include "gateway/json/json_text.h"
#include "gateway/json/valid_text.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 6> kRoles = {"system", "developer", "user", "assistant", "tool", "function"};
constexpr size_t kMaxTextBytes = size_t{1} << 31;
constexpr size_t kMaxNameBytes = 256;

// Texts of one message, a line each.
void AddLine(std::string_view text, std::string& content) {
  if (!content.empty() && !text.empty()) content.push_back('\n');
  content.append(text);
}

absl::Status ReadContentPart(const Fields& parent, const json::value& part, const std::string& path,
                             std::string& content) {
  if (!part.is_object()) return InvalidField(path, "{} is not an object", Shown(part));
  Fields fields = parent.Within(part.get_object(), path);
  const json::value* type = fields.Raw("type");
  if (type == nullptr) return InvalidField(fmt::format("{}.type", path), "is missing");
  if (*type != "text" && *type != "refusal") {
    const std::string given =
        type->is_string() ? "'" + ValidText(std::string_view(type->get_string()), 64) + "'" : Shown(*type);
    return InvalidField(fmt::format("{}.type", path), "{} is not supported, only text and refusal are", given);
  }
  const std::string_view field = *type == "text" ? "text" : "refusal";
  ASSIGN_OR_RETURN(auto text, fields.String(field, kMaxTextBytes));
  if (!text) return InvalidField(fmt::format("{}.{}", path, field), "is missing");
  AddLine(*text, content);
  return absl::OkStatus();
}

absl::Status ReadContent(const Fields& parent, const json::value* content, const std::string& path,
                         v1::Message& message) {
  message.set_has_content(content != nullptr);
  if (content == nullptr) return absl::OkStatus();
  if (content->is_string()) {
    message.set_content(content->get_string().data(), content->get_string().size());
    return absl::OkStatus();
  }
  if (!content->is_array()) return InvalidField(path, "{} is not a string or an array of parts", Shown(*content));
  size_t index = 0;
  for (const json::value& part : content->get_array()) {
    RETURN_IF_ERROR(ReadContentPart(parent, part, fmt::format("{}[{}]", path, index++), *message.mutable_content()));
  }
  return absl::OkStatus();
}

absl::Status CheckToolCalls(const Fields& parent, const json::value& calls, const std::string& path) {
  if (!calls.is_array()) return InvalidField(path, "{} is not an array", Shown(calls));
  size_t index = 0;
  for (const json::value& call : calls.get_array()) {
    std::string place = fmt::format("{}[{}]", path, index++);
    if (!call.is_object()) return InvalidField(place, "{} is not an object", Shown(call));
    Fields fields = parent.Within(call.get_object(), place);
    for (std::string_view known : {"id", "type", "index"}) fields.Ignore(known);
    ASSIGN_OR_RETURN(auto function, fields.Object("function"));
    if (!function) return InvalidField(fmt::format("{}.function", place), "is missing");
    Fields inner = fields.Within(*std::move(function), place + ".function");
    ASSIGN_OR_RETURN(auto name, inner.String("name", kMaxNameBytes));
    if (!name) return InvalidField(fmt::format("{}.function.name", place), "is missing");
    // OpenAI's form is a text; what clients have parsed is taken as well.
    [[maybe_unused]] const json::value* arguments = inner.Raw("arguments");
  }
  return absl::OkStatus();
}

// A call in the older form of one function a message becomes the only call of the list.
absl::Status ReadFunctionCall(Fields& fields, const std::string& path, v1::Message& message) {
  ASSIGN_OR_RETURN(auto function, fields.Object("function_call"));
  if (!function) return absl::OkStatus();
  if (!message.tool_calls_json().empty()) {
    return InvalidField(fmt::format("{}.function_call", path),
                        "is the older form of tool_calls, expected one of the two");
  }
  Fields inner = fields.Within(*function, path + ".function_call");
  ASSIGN_OR_RETURN(auto name, inner.String("name", kMaxNameBytes));
  if (!name) return InvalidField(fmt::format("{}.function_call.name", path), "is missing");
  [[maybe_unused]] const json::value* arguments = inner.Raw("arguments");
  const json::array calls{json::object{{"type", "function"}, {"function", *std::move(function)}}};
  message.set_tool_calls_json(json::serialize(calls));
  return absl::OkStatus();
}

absl::Status ReadMessage(const Fields& parent, const json::value& value, const std::string& path,
                         v1::Message& message) {
  if (!value.is_object()) return InvalidField(path, "{} is not an object", Shown(value));
  Fields fields = parent.Within(value.get_object(), path);
  ASSIGN_OR_RETURN(auto role, fields.String("role", 64));
  if (!role) return InvalidField(fmt::format("{}.role", path), "is missing");
  if (std::find(kRoles.begin(), kRoles.end(), *role) == kRoles.end()) {
    return InvalidField(fmt::format("{}.role", path),
                        "'{}' is not system, developer, user, assistant, tool or function", *role);
  }
  message.set_role(*role);
  // What clients keep of an answer that has none of it.
  for (const std::string_view kept : {"annotations", "audio"}) {
    const json::value* value = fields.Peek(kept);
    if (value != nullptr && value->is_array() && value->get_array().empty()) fields.Ignore(kept);
  }
  RETURN_IF_ERROR(ReadContent(fields, fields.Raw("content"), path + ".content", message));
  const json::value* calls = fields.Raw("tool_calls");
  if (calls != nullptr) {
    RETURN_IF_ERROR(CheckToolCalls(fields, *calls, path + ".tool_calls"));
    if (!calls->get_array().empty()) message.set_tool_calls_json(json::serialize(*calls));
  }
  RETURN_IF_ERROR(ReadFunctionCall(fields, path, message));
  ASSIGN_OR_RETURN(auto refusal, fields.String("refusal", kMaxTextBytes));
  if (refusal) {
    AddLine(*refusal, *message.mutable_content());
    message.set_has_content(true);
  }
  if (!message.has_content() && *role != "assistant") {
    return InvalidField(fmt::format("{}.content", path), "is missing");
  }
  ASSIGN_OR_RETURN(auto name, fields.String("name", kMaxNameBytes));
  message.set_name(name.value_or(""));
  ASSIGN_OR_RETURN(auto call_id, fields.String("tool_call_id", kMaxNameBytes));
  message.set_tool_call_id(call_id.value_or(""));
  ASSIGN_OR_RETURN(auto reasoning, fields.String("reasoning_content", kMaxTextBytes));
  ASSIGN_OR_RETURN(auto other_reasoning, fields.String("reasoning", kMaxTextBytes));
  if (!reasoning) reasoning = std::move(other_reasoning);
  message.set_reasoning_content(reasoning.value_or(""));
  return absl::OkStatus();
}

absl::Status ReadMessages(Fields& fields, v1::ChatPrompt& prompt) {
  const json::value* messages = fields.Raw("messages");
  if (messages == nullptr) return InvalidField("messages", "is missing");
  if (!messages->is_array()) return InvalidField("messages", "{} is not an array", Shown(*messages));
  if (messages->get_array().empty()) return InvalidField("messages", "is empty, expected at least one message");
  size_t index = 0;
  for (const json::value& message : messages->get_array()) {
    RETURN_IF_ERROR(ReadMessage(fields, message, fmt::format("messages[{}]", index++), *prompt.add_messages()));
  }
  return absl::OkStatus();
}

absl::Status CheckTool(const Fields& parent, const json::value& tool, const std::string& path) {
  if (!tool.is_object()) return InvalidField(path, "{} is not an object", Shown(tool));
  Fields fields = parent.Within(tool.get_object(), path);
  ASSIGN_OR_RETURN(auto type, fields.String("type", 64));
  if (type.value_or("") != "function") return InvalidField(fmt::format("{}.type", path), "expected function");
  ASSIGN_OR_RETURN(auto function, fields.Object("function"));
  if (!function) return InvalidField(fmt::format("{}.function", path), "is missing");
  Fields inner = fields.Within(*std::move(function), path + ".function");
  inner.Ignore("strict");  // the worker reads it
  ASSIGN_OR_RETURN(auto name, inner.String("name", kMaxNameBytes));
  if (!name || name->empty()) return InvalidField(fmt::format("{}.function.name", path), "is missing");
  ASSIGN_OR_RETURN([[maybe_unused]] auto description, inner.String("description", kMaxTextBytes));
  ASSIGN_OR_RETURN([[maybe_unused]] auto parameters, inner.Object("parameters"));
  return absl::OkStatus();
}

// {"type": "function", "function": {"name": ...}}
absl::Status CheckNamedChoice(const Fields& parent, const json::object& choice) {
  Fields fields = parent.Within(choice, "tool_choice");
  ASSIGN_OR_RETURN(const auto type, fields.String("type", 64));
  if (type.value_or("") != "function") return InvalidField("tool_choice.type", "expected function");
  ASSIGN_OR_RETURN(auto function, fields.Object("function"));
  if (!function) return InvalidField("tool_choice.function", "is missing");
  Fields inner = fields.Within(*std::move(function), "tool_choice.function");
  ASSIGN_OR_RETURN(const auto name, inner.String("name", kMaxNameBytes));
  if (!name || name->empty()) return InvalidField("tool_choice.function.name", "is missing");
  return absl::OkStatus();
}

absl::Status ReadToolChoice(const Fields& fields, const json::value& choice, v1::ChatPrompt& prompt) {
  // "any" is what Mistral calls it.
  const std::string word = choice.is_string() ? std::string(choice.get_string()) : "";
  const bool forces = word == "required" || word == "any" || choice.is_object();
  if (!forces && word != "none" && word != "auto") {
    return InvalidField("tool_choice", "expected none, auto, required or an object that names a function");
  }
  if (choice.is_object()) RETURN_IF_ERROR(CheckNamedChoice(fields, choice.get_object()));
  if (prompt.tools_json().empty() && forces) return InvalidField("tool_choice", "needs tools");
  prompt.set_tool_choice_json(json::serialize(word == "any" ? json::value("required") : choice));
  return absl::OkStatus();
}

absl::Status ReadTools(Fields& fields, v1::ChatPrompt& prompt) {
  const json::value* tools = fields.Raw("tools");
  if (tools != nullptr) {
    if (!tools->is_array()) return InvalidField("tools", "{} is not an array", Shown(*tools));
    size_t index = 0;
    for (const json::value& tool : tools->get_array()) {
      RETURN_IF_ERROR(CheckTool(fields, tool, fmt::format("tools[{}]", index++)));
    }
    if (!tools->get_array().empty()) prompt.set_tools_json(json::serialize(*tools));
  }
  const json::value* choice = fields.Raw("tool_choice");
  if (choice != nullptr) RETURN_IF_ERROR(ReadToolChoice(fields, *choice, prompt));
  ASSIGN_OR_RETURN(auto parallel, fields.Boolean("parallel_tool_calls"));
  prompt.set_parallel_tool_calls(parallel.value_or(true));
  return absl::OkStatus();
}

absl::Status ReadTemplateArguments(Fields& fields, v1::ChatPrompt& prompt) {
  ASSIGN_OR_RETURN(auto arguments, fields.Object("chat_template_kwargs"));
  ASSIGN_OR_RETURN(auto effort, fields.String("reasoning_effort", 64));
  if (effort) {
    if (!arguments) arguments.emplace();
    arguments->emplace("reasoning_effort", *effort);
  }
  if (arguments && !arguments->empty()) prompt.set_template_arguments_json(json::serialize(*arguments));
  ASSIGN_OR_RETURN(auto open_turn, fields.Boolean("add_generation_prompt"));
  if (open_turn) prompt.set_add_generation_prompt(*open_turn);
  return absl::OkStatus();
}

absl::Status ReadLogprobs(Fields& fields, v1::GenerateRequest& request) {
  ASSIGN_OR_RETURN(auto logprobs, fields.Boolean("logprobs"));
  ASSIGN_OR_RETURN(auto top, fields.Integer("top_logprobs", 0, 20));
  if (top.value_or(0) > 0 && !logprobs.value_or(false)) return InvalidField("top_logprobs", "needs logprobs: true");
  if (logprobs.value_or(false)) request.set_logprobs(static_cast<uint32_t>(top.value_or(0)));
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadChatPrompt(Fields& fields, v1::ChatPrompt& prompt) {
  RETURN_IF_ERROR(ReadMessages(fields, prompt));
  RETURN_IF_ERROR(ReadTools(fields, prompt));
  return ReadTemplateArguments(fields, prompt);
}

std::span<const FieldName> ChatFieldNames() {
  static constexpr FieldName kNames[] = {
      {"prompt", "messages"},
      {"chat.messages", "messages"},
      {"chat.tools_json", "tools"},
      {"chat.tool_choice_json", "tool_choice"},
      {"chat.template_arguments_json", "chat_template_kwargs"},
      {"chat", "messages"},
      {"choices", "n"},
      {"logprobs", "top_logprobs"},
  };
  return kNames;
}

absl::StatusOr<ChatRequest> ParseChatRequest(std::string_view body) {
  ASSIGN_OR_RETURN(json::object object, ParseJsonObject(body));
  Fields fields(std::move(object));
  ChatRequest chat;
  RETURN_IF_ERROR(ReadGenerationFields(fields, chat.generate, chat.common));
  RETURN_IF_ERROR(ReadChatPrompt(fields, *chat.generate.mutable_chat()));
  RETURN_IF_ERROR(ReadLogprobs(fields, chat.generate));
  chat.warnings = fields.Warnings();
  return chat;
}

}  // namespace inferd::gateway
