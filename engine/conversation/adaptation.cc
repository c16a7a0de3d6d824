#include "engine/conversation/adaptation.h"

#include <string_view>
#include <utility>

#include "engine/conversation/calls.h"
#include "engine/conversation/content.h"

namespace inferd::conversation {
namespace {

namespace json = boost::json;

constexpr std::string_view kBetweenTurns = "\n\n";

bool IsRole(const json::value& message, std::string_view role) { return RoleOf(message.get_object()) == role; }

void SetRole(json::value& message, std::string_view from, std::string_view to) {
  if (IsRole(message, from)) message.get_object()["role"] = json::string(to);
}

size_t CountFirstSystems(const json::array& messages) {
  size_t count = 0;
  while (count < messages.size() && IsRole(messages[count], "system")) ++count;
  return count;
}

void Join(json::object& into, const json::object& message) {
  AppendText(into, TextOf(message), kBetweenTurns);
  for (const auto& [key, value] : message) {
    if (!into.contains(key)) into[key] = value;
  }
}

// Neighbours of one role become one; calls end a turn of the assistant.
void JoinNeighbours(json::array& messages, std::string_view role) {
  json::array joined;
  for (json::value& message : messages) {
    const bool follows = !joined.empty() && IsRole(message, role) && IsRole(joined.back(), role) &&
                         CallsOf(joined.back().get_object()) == nullptr;
    if (follows) {
      Join(joined.back().get_object(), message.get_object());
    } else {
      joined.push_back(std::move(message));
    }
  }
  messages = std::move(joined);
}

void MergeFirstSystems(json::array& messages) {
  const size_t count = CountFirstSystems(messages);
  if (count < 2) return;
  for (size_t i = 1; i < count; ++i) Join(messages[0].get_object(), messages[i].get_object());
  messages.erase(messages.begin() + 1, messages.begin() + static_cast<ptrdiff_t>(count));
}

// Systems from `begin` on become the user's, each in one turn with a user's message that follows.
void SystemsToUser(json::array& messages, size_t begin) {
  json::array turned;
  bool open = false;  // the last of `turned` was a system text
  for (size_t i = 0; i < messages.size(); ++i) {
    const bool is_system = i >= begin && IsRole(messages[i], "system");
    if (is_system) SetRole(messages[i], "system", "user");
    if (open && IsRole(messages[i], "user")) {
      Join(turned.back().get_object(), messages[i].get_object());
    } else {
      turned.push_back(std::move(messages[i]));
    }
    open = is_system;
  }
  messages = std::move(turned);
}

void BeginWithUser(json::array& messages) {
  const size_t first = CountFirstSystems(messages);
  if (first < messages.size() && !IsRole(messages[first], "assistant")) return;
  messages.insert(messages.begin() + static_cast<ptrdiff_t>(first), json::object{{"role", "user"}, {"content", ""}});
}

void DropEmptyAssistants(json::array& messages) {
  json::array kept;
  for (json::value& value : messages) {
    const json::object& message = value.get_object();
    const bool says_nothing = IsRole(value, "assistant") && IsBlank(TextOf(message)) && CallsOf(message) == nullptr;
    if (!says_nothing) kept.push_back(std::move(value));
  }
  messages = std::move(kept);
}

}  // namespace

Adaptation NeededFor(const json::array& messages, const Shown& shown) {
  Adaptation needed;
  needed.developer_to_system = !shown.developer;
  needed.merge_first_systems = !shown.systems_in_a_row;
  needed.later_systems_to_user = !shown.later_system;
  needed.systems_to_user = !shown.system;
  needed.join_users = !shown.users_in_a_row;
  needed.join_assistants = !shown.assistants_in_a_row;
  needed.drop_empty_assistants = !shown.empty_assistant;
  needed.user_first = !shown.assistant_first;
  for (const json::value& value : messages) {
    const json::object& message = value.get_object();
    const json::array* calls = CallsOf(message);
    if (calls == nullptr) continue;
    if (!shown.calls) needed.fold_calls = true;
    if (!shown.any_call_id) needed.shorten_call_ids = true;
    if (calls->size() > 1 && !shown.several_calls) needed.split_calls = true;
    if (!IsBlank(TextOf(message)) && !shown.content_with_calls) needed.split_content_from_calls = true;
  }
  needed.fold_results = !(needed.fold_calls ? shown.lone_results : shown.results);
  return needed;
}

json::array Adapt(json::array messages, const Adaptation& adaptation) {
  if (adaptation.developer_to_system) {
    for (json::value& message : messages) SetRole(message, "developer", "system");
  }
  if (adaptation.drop_empty_assistants) DropEmptyAssistants(messages);
  if (adaptation.fold_results) FoldResults(messages);
  if (adaptation.fold_calls) {
    FoldCalls(messages);
  } else {
    if (adaptation.shorten_call_ids) ShortenCallIds(messages);
    if (adaptation.split_content_from_calls) messages = SplitContentFromCalls(std::move(messages));
    if (adaptation.split_calls) messages = SplitCalls(std::move(messages));
  }
  if (adaptation.merge_first_systems) MergeFirstSystems(messages);
  if (adaptation.systems_to_user) {
    SystemsToUser(messages, 0);
  } else if (adaptation.later_systems_to_user) {
    SystemsToUser(messages, CountFirstSystems(messages));
  }
  if (adaptation.join_users) JoinNeighbours(messages, "user");
  if (adaptation.join_assistants) JoinNeighbours(messages, "assistant");
  if (adaptation.user_first) BeginWithUser(messages);
  return messages;
}

}  // namespace inferd::conversation
