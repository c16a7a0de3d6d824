#include "gateway/anthropic/messages_request.h"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "config/base/status.h"
#include "gateway/anthropic/content_blocks.h"
#include "gateway/api/deadline_field.h"
#include "gateway/api/priority_field.h"
#include "gateway/api/sampling_fields.h"
#include "gateway/json/json_text.h"
#include "gateway/json/valid_text.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

constexpr int64_t kMaxInt32 = 2147483647;
constexpr size_t kMaxTextBytes = size_t{1} << 31;
constexpr size_t kMaxNameBytes = 256;

// A tool of the client to OpenAI's form, which the contract has. Tools that Anthropic's servers run are refused.
absl::StatusOr<json::object> ReadTool(const Fields& parent, const json::value& value, const std::string& path) {
  if (!value.is_object()) return InvalidField(path, "{} is not an object", Shown(value));
  Fields fields = parent.Within(value.get_object(), path);
  ASSIGN_OR_RETURN(const auto type, fields.String("type", 64));
  if (type.value_or("custom") != "custom") {
    return InvalidField(fmt::format("{}.type", path), "'{}' is not supported, expected custom", ValidText(*type, 64));
  }
  RETURN_IF_ERROR(ReadCacheControl(fields));
  json::object function;
  ASSIGN_OR_RETURN(const auto name, fields.String("name", kMaxNameBytes));
  if (!name || name->empty()) return InvalidField(fmt::format("{}.name", path), "is missing");
  function["name"] = *name;
  ASSIGN_OR_RETURN(const auto description, fields.String("description", kMaxTextBytes));
  if (description) function["description"] = *description;
  ASSIGN_OR_RETURN(auto schema, fields.Object("input_schema"));
  if (!schema) return InvalidField(fmt::format("{}.input_schema", path), "is missing");
  function["parameters"] = *std::move(schema);
  ASSIGN_OR_RETURN(const auto strict, fields.Boolean("strict"));
  if (strict) function["strict"] = *strict;
  return json::object{{"type", "function"}, {"function", std::move(function)}};
}

absl::Status ReadTools(Fields& fields, v1::ChatPrompt& prompt) {
  const json::value* tools = fields.Raw("tools");
  if (tools == nullptr) return absl::OkStatus();
  if (!tools->is_array()) return InvalidField("tools", "{} is not an array", Shown(*tools));
  json::array functions;
  for (const json::value& tool : tools->get_array()) {
    ASSIGN_OR_RETURN(json::object function, ReadTool(fields, tool, fmt::format("tools[{}]", functions.size())));
    functions.push_back(std::move(function));
  }
  if (!functions.empty()) prompt.set_tools_json(json::serialize(functions));
  return absl::OkStatus();
}

absl::Status ReadToolChoice(Fields& fields, v1::ChatPrompt& prompt) {
  prompt.set_parallel_tool_calls(true);
  ASSIGN_OR_RETURN(auto choice, fields.Object("tool_choice"));
  if (!choice) return absl::OkStatus();
  Fields inner = fields.Within(*std::move(choice), "tool_choice");
  ASSIGN_OR_RETURN(const auto type, inner.String("type", 64));
  if (prompt.tools_json().empty() && type.value_or("") != "none") return InvalidField("tool_choice", "needs tools");
  if (type == "tool") {
    ASSIGN_OR_RETURN(const auto name, inner.String("name", kMaxNameBytes));
    if (!name || name->empty()) return InvalidField("tool_choice.name", "is missing");
    json::object function{{"name", *name}};
    prompt.set_tool_choice_json(json::serialize(json::object{{"type", "function"}, {"function", std::move(function)}}));
  } else if (type == "auto" || type == "none") {
    prompt.set_tool_choice_json(*type == "auto" ? R"("auto")" : R"("none")");
  } else if (type == "any") {
    prompt.set_tool_choice_json(R"("required")");
  } else {
    return InvalidField("tool_choice.type", "expected auto, any, tool or none");
  }
  ASSIGN_OR_RETURN(const auto one_call, inner.Boolean("disable_parallel_tool_use"));
  prompt.set_parallel_tool_calls(!one_call.value_or(false));
  return absl::OkStatus();
}

// Whether to think is a variable of the chat template, under either of two names. A budget cannot be kept, which a
// warning says.
absl::Status ReadThinking(Fields& fields, json::object& arguments, MessagesRequest& messages) {
  ASSIGN_OR_RETURN(auto thinking, fields.Object("thinking"));
  if (!thinking) return absl::OkStatus();
  Fields inner = fields.Within(*std::move(thinking), "thinking");
  ASSIGN_OR_RETURN(const auto type, inner.String("type", 64));
  if (type != "enabled" && type != "adaptive" && type != "disabled") {
    return InvalidField("thinking.type", "expected enabled, adaptive or disabled");
  }
  ASSIGN_OR_RETURN(const auto budget, inner.Integer("budget_tokens", 1024, kMaxInt32));
  if (type == "enabled" && !budget) return InvalidField("thinking.budget_tokens", "is missing");
  if (type != "enabled" && budget) return InvalidField("thinking.budget_tokens", "needs type enabled");
  if (budget) messages.warnings.emplace_back("thinking.budget_tokens: is not kept, max_tokens alone bounds the answer");
  ASSIGN_OR_RETURN(const auto display, inner.String("display", 64));
  if (display && *display != "summarized" && *display != "omitted") {
    return InvalidField("thinking.display", "'{}' is not summarized or omitted", ValidText(*display, 64));
  }
  messages.omits_thinking = display == "omitted";
  for (const char* name : {"enable_thinking", "thinking"}) arguments[name] = *type != "disabled";
  return absl::OkStatus();
}

// Empty: there is none.
absl::StatusOr<std::string> ReadFormat(Fields& parent, std::string_view name) {
  ASSIGN_OR_RETURN(auto format, parent.Object(name));
  if (!format) return "";
  Fields fields = parent.Within(*std::move(format), parent.PathOf(name));
  ASSIGN_OR_RETURN(const auto type, fields.String("type", 64));
  if (type.value_or("") != "json_schema") return InvalidField(fields.PathOf("type"), "expected json_schema");
  ASSIGN_OR_RETURN(const auto schema, fields.Object("schema"));
  if (!schema) return InvalidField(fields.PathOf("schema"), "is missing");
  return json::serialize(*schema);
}

// output_config.format, or by its older name output_format.
absl::Status ReadOutputConfig(Fields& fields, json::object& arguments, MessagesRequest& messages) {
  ASSIGN_OR_RETURN(std::string schema, ReadFormat(fields, "output_format"));
  if (!schema.empty()) messages.names.constraint = "output_format";
  ASSIGN_OR_RETURN(auto config, fields.Object("output_config"));
  if (config) {
    Fields inner = fields.Within(*std::move(config), "output_config");
    ASSIGN_OR_RETURN(const auto effort, inner.String("effort", 64));
    if (effort) arguments["reasoning_effort"] = *effort;
    ASSIGN_OR_RETURN(std::string newer, ReadFormat(inner, "format"));
    if (!newer.empty() && !schema.empty()) {
      return InvalidField("output_format", "only one of this and output_config.format can be given");
    }
    if (!newer.empty()) messages.names.constraint = "output_config.format";
    if (!newer.empty()) schema = std::move(newer);
  }
  if (!schema.empty()) messages.generate.mutable_constraint()->set_json_schema(std::move(schema));
  return absl::OkStatus();
}

absl::Status ReadMetadata(Fields& fields, MessagesRequest& messages) {
  ASSIGN_OR_RETURN(auto metadata, fields.Object("metadata"));
  if (!metadata) return absl::OkStatus();
  Fields inner = fields.Within(*std::move(metadata), "metadata");
  ASSIGN_OR_RETURN(const auto user, inner.String("user_id", 256));
  messages.options.user = user.value_or("");
  messages.generate.set_user(messages.options.user);
  return absl::OkStatus();
}

absl::Status ReadAnswerFields(Fields& fields, MessagesRequest& messages) {
  v1::GenerateRequest& request = messages.generate;
  ASSIGN_OR_RETURN(const auto most, fields.Integer("max_tokens", 0, kMaxInt32));
  if (!most) return InvalidField("max_tokens", "is missing");
  request.mutable_limits()->set_max_tokens(static_cast<uint32_t>(*most));
  ASSIGN_OR_RETURN(const auto stops, fields.Strings("stop_sequences", 16, 256));
  request.mutable_stop()->Add(stops.begin(), stops.end());
  ASSIGN_OR_RETURN(const auto tier, fields.String("service_tier", 64));
  if (tier && *tier != "auto" && *tier != "standard_only") {
    return InvalidField("service_tier", "expected auto or standard_only");
  }
  RETURN_IF_ERROR(ReadMetadata(fields, messages));
  ASSIGN_OR_RETURN(const auto stream, fields.Boolean("stream"));
  messages.options.stream = stream.value_or(false);
  ASSIGN_OR_RETURN(const v1::Priority priority, ReadPriority(fields));
  request.set_priority(priority);
  ASSIGN_OR_RETURN(auto salt, fields.String("cache_salt", 256));
  request.set_cache_salt(salt.value_or(""));
  RETURN_IF_ERROR(ReadSamplingFields(fields, *request.mutable_sampling()));
  return ReadSeed(fields, request);
}

absl::Status ReadPromptFields(Fields& fields, MessagesRequest& messages) {
  v1::ChatPrompt& prompt = *messages.generate.mutable_chat();
  Conversation conversation{.prompt = prompt, .places = messages.names.messages};
  RETURN_IF_ERROR(ReadSystem(fields, conversation));
  RETURN_IF_ERROR(ReadTurns(fields, conversation));
  RETURN_IF_ERROR(ReadTools(fields, prompt));
  RETURN_IF_ERROR(ReadToolChoice(fields, prompt));
  RETURN_IF_ERROR(ReadCacheControl(fields));
  json::object arguments;
  RETURN_IF_ERROR(ReadThinking(fields, arguments, messages));
  RETURN_IF_ERROR(ReadOutputConfig(fields, arguments, messages));
  if (!arguments.empty()) prompt.set_template_arguments_json(json::serialize(arguments));
  return absl::OkStatus();
}

absl::StatusOr<MessagesRequest> Parse(std::string_view body, bool counts) {
  ASSIGN_OR_RETURN(json::object object, ParseJsonObject(body));
  Fields fields(std::move(object));
  MessagesRequest messages;
  messages.generate.set_choices(1);
  ASSIGN_OR_RETURN(auto model, fields.String("model", 256));
  messages.model = model.value_or("");
  RETURN_IF_ERROR(ReadPromptFields(fields, messages));
  if (!counts) RETURN_IF_ERROR(ReadAnswerFields(fields, messages));
  ASSIGN_OR_RETURN(messages.options.deadline, ReadDeadline(fields));
  std::vector<std::string> unknown = fields.Warnings();
  messages.warnings.insert(messages.warnings.begin(), unknown.begin(), unknown.end());
  return messages;
}

}  // namespace

absl::StatusOr<MessagesRequest> ParseMessagesRequest(std::string_view body) { return Parse(body, false); }

absl::StatusOr<MessagesRequest> ParseCountTokensRequest(std::string_view body) { return Parse(body, true); }

}  // namespace inferd::gateway
