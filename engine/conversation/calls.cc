#include "engine/conversation/calls.h"

#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "config/base/status.h"
#include "engine/conversation/content.h"
#include "engine/output/answer_format.h"

namespace inferd::conversation {
namespace {

namespace json = boost::json;

std::optional<json::value> Parsed(std::string_view text) {
  json::parse_options options;
  options.max_depth = 64;
  json::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error, {}, options);
  if (error) return std::nullopt;
  return value;
}

// The object that a text holds; else null.
json::value ParsedObject(std::string_view text) {
  std::optional<json::value> value = Parsed(text);
  return value && value->is_object() ? *std::move(value) : json::value(nullptr);
}

json::value NormalArguments(json::value arguments, const Shown& shown) {
  if (arguments.is_null()) arguments = json::object();
  if (!arguments.is_string() && !arguments.is_object()) arguments = json::value(json::serialize(arguments));
  if (arguments.is_string()) {
    const std::string_view text(arguments.get_string().data(), arguments.get_string().size());
    json::value object = IsBlank(text) ? json::value(json::object()) : ParsedObject(text);
    if (object.is_object()) {
      if (!shown.object_arguments && !IsBlank(text)) return arguments;
      arguments = std::move(object);
    } else if (shown.text_arguments || !shown.object_arguments) {
      return arguments;
    } else {
      return json::object{{"arguments", std::move(arguments)}};
    }
  }
  if (shown.object_arguments) return arguments;
  return json::value(json::serialize(arguments));
}

// JSON stays as it is written, and no text is lost.
std::string ArgumentsText(const json::value* arguments) {
  if (arguments == nullptr || arguments->is_null()) return "{}";
  if (!arguments->is_string()) return json::serialize(*arguments);
  const std::string_view text(arguments->get_string().data(), arguments->get_string().size());
  if (IsBlank(text)) return "{}";
  const std::optional<json::value> value = Parsed(text);
  if (!value) return json::serialize(*arguments);
  return value->is_null() ? "{}" : std::string(text);
}

std::string TextOfCall(json::value& call) {
  const output::CallSyntax& form = output::GenericCalls();
  json::object* function = FunctionOf(call);
  std::string written = json::serialize(call);
  if (function != nullptr) {
    written =
        fmt::format("{{\"name\": {}, \"arguments\": {}}}", json::serialize(json::value(StringAt(*function, "name"))),
                    ArgumentsText(function->if_contains("arguments")));
  }
  return fmt::format("{}{}{}", form.open, written, form.close);
}

bool IsTool(const json::object& message) { return RoleOf(message) == "tool" || RoleOf(message) == "function"; }

}  // namespace

void NormalizeCalls(json::array& messages, const Shown& shown) {
  for (json::value& value : messages) {
    json::array* calls = CallsOf(value.get_object());
    if (calls == nullptr) continue;
    for (json::value& call : *calls) {
      json::object* function = FunctionOf(call);
      if (function == nullptr) continue;
      json::value& arguments = (*function)["arguments"];
      arguments = NormalArguments(std::move(arguments), shown);
      json::object& object = call.get_object();
      if (StringAt(object, "type").empty()) object["type"] = "function";
    }
  }
}

void FoldCalls(json::array& messages) {
  for (json::value& value : messages) {
    json::object& message = value.get_object();
    json::array* calls = CallsOf(message);
    if (calls == nullptr) continue;
    std::string text;
    for (json::value& call : *calls) text.append(text.empty() ? "" : "\n").append(TextOfCall(call));
    message.erase("tool_calls");
    AppendText(message, text, "\n");
  }
}

// Some templates take a user's text that is a tool response alone for no question: a line before it names the function.
void FoldResults(json::array& messages) {
  std::map<std::string, std::string, std::less<>> names;  // by the id of a call
  json::array folded;
  bool after_result = false;
  for (json::value& value : messages) {
    json::object& message = value.get_object();
    const bool is_result = IsTool(message);
    if (is_result) {
      std::string_view function = StringAt(message, "name");
      const auto known = names.find(StringAt(message, "tool_call_id"));
      if (function.empty()) function = known != names.end() ? std::string_view(known->second) : "a call";
      if (!after_result) folded.push_back(json::object{{"role", "user"}, {"content", ""}});
      AppendText(folded.back().get_object(),
                 fmt::format("Result of {}:\n<tool_response>\n{}\n</tool_response>", function, TextOf(message)), "\n");
    } else {
      if (json::array* calls = CallsOf(message)) {
        for (json::value& call : *calls) {
          const json::object* function = FunctionOf(call);
          if (function != nullptr) names[std::string(StringAt(call.get_object(), "id"))] = StringAt(*function, "name");
        }
      }
      folded.push_back(std::move(value));
    }
    after_result = is_result;
  }
  messages = std::move(folded);
}

json::array SplitCalls(json::array messages) {
  json::array split;
  for (size_t i = 0; i < messages.size();) {
    json::object message = std::move(messages[i++].get_object());
    json::array* calls = CallsOf(message);
    if (calls == nullptr || calls->size() == 1) {
      split.push_back(std::move(message));
      continue;
    }
    std::deque<json::object> results;
    while (i < messages.size() && IsTool(messages[i].get_object())) {
      results.push_back(std::move(messages[i++].get_object()));
    }
    const json::array all = std::move(*calls);
    for (const json::value& call : all) {
      message["tool_calls"] = json::array{call};
      split.push_back(message);
      message["content"] = "";
      message.erase("reasoning_content");
      const std::string_view id = call.is_object() ? StringAt(call.get_object(), "id") : std::string_view();
      auto answer = results.begin();
      while (answer != results.end() && StringAt(*answer, "tool_call_id") != id) ++answer;
      if (answer == results.end()) answer = results.begin();
      if (answer == results.end()) continue;
      split.push_back(std::move(*answer));
      results.erase(answer);
    }
    for (json::object& result : results) split.push_back(std::move(result));
  }
  return split;
}

json::array SplitContentFromCalls(json::array messages) {
  json::array split;
  for (json::value& value : messages) {
    json::object& message = value.get_object();
    if (CallsOf(message) != nullptr && !IsBlank(TextOf(message))) {
      split.push_back(json::object{{"role", "assistant"}, {"content", std::move(message["content"])}});
      message["content"] = "";
    }
    split.push_back(std::move(value));
  }
  return split;
}

void ShortenCallIds(json::array& messages) {
  std::map<std::string, std::string, std::less<>> short_ids;
  std::deque<std::string> open;  // calls without a result so far
  size_t count = 0;
  for (json::value& value : messages) {
    json::object& message = value.get_object();
    if (json::array* calls = CallsOf(message)) {
      open.clear();
      for (json::value& call : *calls) {
        if (!call.is_object()) continue;
        const std::string id = fmt::format("call{:05}", ++count % 100000);
        short_ids[std::string(StringAt(call.get_object(), "id"))] = id;
        call.get_object()["id"] = id;
        open.push_back(id);
      }
    } else if (IsTool(message)) {
      const std::string_view named = StringAt(message, "tool_call_id");
      const auto known = named.empty() ? short_ids.end() : short_ids.find(named);
      std::string id = known != short_ids.end() ? known->second
                       : !open.empty()          ? open.front()
                                                : fmt::format("call{:05}", ++count % 100000);
      std::erase(open, id);
      message["tool_call_id"] = id;
    }
  }
}

}  // namespace inferd::conversation
