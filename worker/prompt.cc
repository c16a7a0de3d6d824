// The variables of a chat template, named as the transformers library names them. Boost.JSON throws nowhere here: its
// parser is called with an error code.
#include "worker/prompt.h"

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <string_view>

#include "config/base/status.h"
#include "engine/conversation/rendering.h"
#include "engine/model_variables.h"
#include "engine/rendered_segments.h"
#include "inferd/v1/inference.pb.h"
#include "worker/generic_calls.h"
#include "worker/prompt_length.h"

namespace inferd::worker {
namespace {

namespace json = boost::json;

constexpr size_t kMostMessages = 16384;
constexpr size_t kMostWarnings = 16;
constexpr std::string_view kRoles[] = {"system", "developer", "user", "assistant", "tool", "function"};

absl::StatusOr<json::value> ParseJson(std::string_view text, std::string_view field) {
  json::parse_options options;
  options.max_depth = 64;
  json::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error, {}, options);
  if (error) return InvalidField(field, "is not JSON: {}", error.message());
  return value;
}

absl::StatusOr<json::object> MessageObject(const v1::Message& message, int index) {
  bool known = false;
  for (std::string_view role : kRoles) known |= message.role() == role;
  if (!known) {
    return InvalidField(fmt::format("chat.messages[{}].role", index),
                        "\"{}\" is not system, developer, user, assistant, tool or function", message.role());
  }
  json::object object;
  object["role"] = message.role();
  const bool has_content = !message.has_has_content() || message.has_content();
  object["content"] = has_content ? json::value(message.content()) : json::value(nullptr);
  if (!message.name().empty()) object["name"] = message.name();
  if (!message.tool_call_id().empty()) object["tool_call_id"] = message.tool_call_id();
  if (!message.reasoning_content().empty()) object["reasoning_content"] = message.reasoning_content();
  if (!message.tool_calls_json().empty()) {
    const std::string field = fmt::format("chat.messages[{}].tool_calls_json", index);
    ASSIGN_OR_RETURN(json::value calls, ParseJson(message.tool_calls_json(), field));
    if (!calls.is_array()) return InvalidField(field, "is not a JSON array");
    object["tool_calls"] = std::move(calls);
  }
  return object;
}

absl::Status ReadTemplateArguments(const v1::ChatPrompt& chat, json::object& variables) {
  if (chat.template_arguments_json().empty()) return absl::OkStatus();
  constexpr char kField[] = "chat.template_arguments_json";
  ASSIGN_OR_RETURN(json::value arguments, ParseJson(chat.template_arguments_json(), kField));
  if (!arguments.is_object()) return InvalidField(kField, "is not a JSON object");
  for (const char* own : {"messages", "tools"}) {
    if (arguments.get_object().contains(own)) return InvalidField(kField, "{} has a field of its own", own);
  }
  variables = std::move(arguments.get_object());
  return absl::OkStatus();
}

absl::StatusOr<json::object> TemplateVariables(const v1::ChatPrompt& chat) {
  if (chat.messages().empty()) return InvalidField("chat.messages", "is empty, expected at least one message");
  if (static_cast<size_t>(chat.messages_size()) > kMostMessages) {
    return InvalidField("chat.messages", "{} messages, expected at most {}", chat.messages_size(), kMostMessages);
  }
  json::object variables;
  RETURN_IF_ERROR(ReadTemplateArguments(chat, variables));
  json::array messages;
  for (int i = 0; i < chat.messages_size(); ++i) {
    ASSIGN_OR_RETURN(json::object message, MessageObject(chat.messages(i), i));
    messages.push_back(std::move(message));
  }
  variables["messages"] = std::move(messages);
  if (chat.has_add_generation_prompt() || !variables.contains("add_generation_prompt")) {
    variables["add_generation_prompt"] = !chat.has_add_generation_prompt() || chat.add_generation_prompt();
  }
  ASSIGN_OR_RETURN(const ToolChoice choice, ToolChoiceOf(chat));
  if (choice != ToolChoice::kNone) {
    ASSIGN_OR_RETURN(json::value tools, ParseJson(chat.tools_json(), "chat.tools_json"));
    if (!tools.is_array()) return InvalidField("chat.tools_json", "is not a JSON array");
    variables["tools"] = std::move(tools);
  }
  return variables;
}

size_t TextBytes(const std::vector<tokenizer::Segment>& segments) {
  size_t bytes = 0;
  for (const tokenizer::Segment& segment : segments) bytes += segment.text.size();
  return bytes;
}

std::vector<Warning> WarningsOf(const std::vector<std::string>& left_out) {
  std::vector<Warning> warnings;
  for (size_t i = 0; i < std::min(left_out.size(), kMostWarnings); ++i) {
    const bool last = i + 1 == kMostWarnings && left_out.size() > kMostWarnings;
    const std::string more = last ? fmt::format(", nor {} texts more", left_out.size() - kMostWarnings) : "";
    warnings.push_back({.field = "chat." + left_out[i], .text = "the model's template does not show it" + more});
  }
  return warnings;
}

}  // namespace

int64_t RenderTime(const v1::GenerateRequest& request, WallTime now) {
  const bool resumes = request.resume_tokens_size() > 0 && request.rendered_unix_seconds() != 0;
  return resumes ? request.rendered_unix_seconds() : std::chrono::system_clock::to_time_t(now);
}

absl::StatusOr<RenderedChat> RenderChat(const LoadedModel& model, const v1::ChatPrompt& chat, const std::tm& now) {
  if (model.chat_template == nullptr) {
    return AtField("chat", FailedPrecondition("the model's file has no chat template; send text or tokens"));
  }
  ASSIGN_OR_RETURN(json::object variables, TemplateVariables(chat));
  if (model.answer_format.has_generic_calls()) WriteGenericCalls(variables);
  absl::StatusOr<conversation::Rendering> rendering = conversation::RenderConversation(
      *model.chat_template, model.abilities, std::move(variables), engine::ModelVariables(*model.tokenizer), now);
  if (!rendering.ok()) return AtField("chat", rendering.status());
  return RenderedChat{.prompt = std::move(rendering->prompt), .warnings = WarningsOf(rendering->left_out)};
}

absl::StatusOr<std::vector<int32_t>> EncodeText(const LoadedModel& model, std::string_view field,
                                                const std::string& text, bool add_special, bool parse_special) {
  absl::StatusOr<std::vector<int32_t>> encoded =
      model.tokenizer->Encode(text, {.add_special = add_special, .parse_special = parse_special});
  if (!encoded.ok()) return AtField(field, encoded.status());
  std::vector<int32_t> ids = *std::move(encoded);
  // A text that spells BOS itself does not get a second one.
  const std::optional<int32_t> bos = model.tokenizer->bos();
  if (add_special && parse_special && bos && ids.size() >= 2 && ids[0] == *bos && ids[1] == *bos) {
    ids.erase(ids.begin());
  }
  return ids;
}

absl::StatusOr<ToolChoice> ToolChoiceOf(const v1::ChatPrompt& chat) {
  const bool has_tools = !chat.tools_json().empty();
  if (chat.tool_choice_json().empty()) return has_tools ? ToolChoice::kAuto : ToolChoice::kNone;
  ASSIGN_OR_RETURN(const json::value choice, ParseJson(chat.tool_choice_json(), "chat.tool_choice_json"));
  if (choice == "none" || (choice == "auto" && !has_tools)) return ToolChoice::kNone;
  if (choice == "auto") return ToolChoice::kAuto;
  const bool forces = choice == "required" || choice.is_object();
  if (forces && !has_tools) {
    return InvalidField("chat.tool_choice_json", "{} needs tools, and tools_json is empty", chat.tool_choice_json());
  }
  if (forces) return ToolChoice::kForced;
  return InvalidField("chat.tool_choice_json", "{} is not \"none\", \"auto\", \"required\" or an object",
                      chat.tool_choice_json());
}

absl::StatusOr<std::string> ForcedTool(const v1::ChatPrompt& chat) {
  if (chat.tool_choice_json().empty()) return std::string();
  ASSIGN_OR_RETURN(const json::value choice, ParseJson(chat.tool_choice_json(), "chat.tool_choice_json"));
  if (!choice.is_object()) return std::string();
  json::error_code error;
  const json::value* name = choice.find_pointer("/function/name", error);
  if (name == nullptr || !name->is_string() || name->get_string().empty()) {
    return InvalidField("chat.tool_choice_json",
                        "expected {{\"type\": \"function\", \"function\": {{\"name\": ...}}}}");
  }
  return std::string(name->get_string());
}

absl::StatusOr<Prompt> ReadPrompt(const LoadedModel& model, const v1::GenerateRequest& request, const std::tm& now,
                                  const engine::RequestLimits& limits) {
  Prompt prompt;
  switch (request.prompt_case()) {
    case v1::GenerateRequest::kChat: {
      ASSIGN_OR_RETURN(RenderedChat rendered, RenderChat(model, request.chat(), now));
      prompt.warnings = std::move(rendered.warnings);
      const std::vector<tokenizer::Segment> segments = engine::SegmentsOf(std::move(rendered.prompt));
      // Not where the prompt ends with a client's text: the template alone begins a reasoning.
      prompt.opens_reasoning = !segments.empty() && segments.back().trusted &&
                               output::EndsInReasoning(model.answer_format, segments.back().text);
      RETURN_IF_ERROR(CheckTextLength("chat.messages", TextBytes(segments), *model.tokenizer, limits));
      absl::StatusOr<std::vector<int32_t>> tokens = model.tokenizer->EncodeSegments(segments);
      if (!tokens.ok()) return AtField("chat.messages", tokens.status());
      prompt.tokens = *std::move(tokens);
      return prompt;
    }
    case v1::GenerateRequest::kText: {
      RETURN_IF_ERROR(CheckTextLength("text", request.text().size(), *model.tokenizer, limits));
      ASSIGN_OR_RETURN(prompt.tokens,
                       EncodeText(model, "text", request.text(), /*add_special=*/true, request.parse_special()));
      return prompt;
    }
    case v1::GenerateRequest::kTokens:
      prompt.tokens.assign(request.tokens().ids().begin(), request.tokens().ids().end());
      return prompt;
    case v1::GenerateRequest::PROMPT_NOT_SET:
      break;
  }
  return InvalidField("prompt", "one of chat, text and tokens must be set");
}

}  // namespace inferd::worker
