#include "engine/conversation/rendering.h"

#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <utility>

#include "config/base/status.h"
#include "engine/conversation/adaptation.h"
#include "engine/conversation/calls.h"
#include "engine/conversation/content.h"
#include "engine/conversation/marks.h"
#include "engine/conversation/tools.h"

namespace inferd::conversation {
namespace {

namespace json = boost::json;
using chat_template::ChatTemplate;
using chat_template::RenderedPrompt;

// One form of the conversation.
struct Form {
  Adaptation adaptation;
  bool complete_tools = false;
  bool rename_reasoning = true;

  bool operator==(const Form&) const = default;
};

class Renderer {
 public:
  Renderer(const ChatTemplate& chat_template, const Abilities& abilities, json::object request,
           const json::object& model, const std::tm& now)
      : template_(chat_template), abilities_(abilities), request_(std::move(request)), model_(model), now_(now) {
    json::value& messages = request_["messages"];
    messages_ = std::move(messages.get_array());
    json::value* tools = request_.if_contains("tools");
    has_tools_ = tools != nullptr && tools->is_array() && !tools->get_array().empty();
    if (has_tools_) complete_tools_ = CompleteTools(tools->get_array());
  }

  absl::StatusOr<Rendering> Run();

 private:
  const Shown& shown() const { return abilities_.With(has_tools_); }
  void Normalize();
  std::vector<Form> OtherForms(bool complete_tools) const;
  absl::StatusOr<Rendering> Try(const MarkedConversation& marked, const Form& form) const;
  absl::Status TakesTools(const Form& form) const;
  bool HasUnshownCalls() const;
  absl::StatusOr<RenderedPrompt> Render(json::array messages, const Form& form) const;
  absl::Status Refusal(const MarkedConversation& marked, const Form& form, const absl::Status& reason) const;

  const ChatTemplate& template_;
  const Abilities& abilities_;
  json::object request_;  // without its messages
  json::array messages_;
  json::array complete_tools_;
  bool has_tools_ = false;
  const json::object& model_;
  const std::tm now_;
};

// What has one right form for a template.
void Renderer::Normalize() {
  NormalizeCalls(messages_, shown());
  for (json::value& value : messages_) {
    json::object& message = value.get_object();
    if (RoleOf(message) == "function") message["role"] = "tool";
    json::value& content = message["content"];
    if (content.is_null() && !(CallsOf(message) != nullptr && shown().null_content)) content = "";
  }
}

bool Renderer::HasUnshownCalls() const {
  return !shown().calls && std::any_of(messages_.begin(), messages_.end(), [](const json::value& message) {
    return CallsOf(message.get_object()) != nullptr;
  });
}

// Behind the template's own form: from what its abilities ask for to what departs most from the request.
std::vector<Form> Renderer::OtherForms(bool complete_tools) const {
  std::vector<Form> forms;
  const auto add = [&](const Form& form) {
    if (std::find(forms.begin(), forms.end(), form) == forms.end()) forms.push_back(form);
  };
  Form form{.complete_tools = complete_tools};
  if (complete_tools) add(form);
  form.adaptation = NeededFor(messages_, shown());
  add(form);
  form.rename_reasoning = false;
  add(form);
  Form variant = form;
  variant.adaptation.shorten_call_ids = true;
  add(variant);
  variant.adaptation.split_calls = true;
  add(variant);
  variant.adaptation.split_content_from_calls = true;
  add(variant);
  form.adaptation.fold_calls = form.adaptation.fold_results = true;
  add(form);
  form.adaptation.join_users = form.adaptation.join_assistants = form.adaptation.drop_empty_assistants = true;
  add(form);
  form.adaptation.merge_first_systems = form.adaptation.later_systems_to_user = true;
  form.adaptation.developer_to_system = form.adaptation.user_first = true;
  add(form);
  form.adaptation.systems_to_user = true;
  add(form);
  return forms;
}

absl::StatusOr<RenderedPrompt> Renderer::Render(json::array messages, const Form& form) const {
  json::array adapted =
      form.adaptation == Adaptation() ? std::move(messages) : Adapt(std::move(messages), form.adaptation);
  if (form.rename_reasoning && abilities_.reasoning_field != "reasoning_content") {
    for (json::value& value : adapted) {
      json::object& message = value.get_object();
      json::value* reasoning = message.if_contains("reasoning_content");
      if (reasoning == nullptr) continue;
      json::value moved = std::move(*reasoning);
      message.erase("reasoning_content");
      message[abilities_.reasoning_field] = std::move(moved);
    }
  }
  if (!abilities_.text_content) ContentAsParts(adapted);
  json::object request = request_;
  request["messages"] = std::move(adapted);
  if (form.complete_tools) request["tools"] = complete_tools_;
  return template_.Render(request, model_, now_);
}

// Names a message with which the template refuses the conversation, but not without it.
absl::Status Renderer::Refusal(const MarkedConversation& marked, const Form& form, const absl::Status& reason) const {
  const json::array& messages = marked.messages();
  size_t taken = 0, refused = messages.size();
  while (refused - taken > 1) {
    const size_t middle = taken + (refused - taken) / 2;
    const json::array prefix(messages.begin(), messages.begin() + static_cast<ptrdiff_t>(middle));
    (Render(prefix, form).ok() ? taken : refused) = middle;
  }
  return AtField(fmt::format("messages[{}]", refused - 1), Annotate(reason, "the model's template refuses it"));
}

// The form's prompt, where no text that is required is lost.
absl::StatusOr<Rendering> Renderer::Try(const MarkedConversation& marked, const Form& form) const {
  if (HasUnshownCalls() && !form.adaptation.fold_calls) {
    return InvalidField("messages", "the model's template shows no calls of tools");
  }
  absl::StatusOr<RenderedPrompt> shape = Render(marked.messages(), form);
  if (absl::IsInvalidArgument(shape.status())) return Refusal(marked, form, shape.status());
  RETURN_IF_ERROR(shape.status());
  Rendering rendering;
  for (const Mark& lost : marked.MissingIn(shape->Text())) {
    if (lost.required) {
      return InvalidField(fmt::format("messages[{}].{}", lost.message, lost.field),
                          "the model's template does not show this text of role {}",
                          RoleOf(messages_[lost.message].get_object()));
    }
    rendering.left_out.push_back(fmt::format("messages[{}].{}", lost.message, lost.field));
  }
  ASSIGN_OR_RETURN(rendering.prompt, Render(messages_, form));
  return rendering;
}

// Whether the template takes the request's tools as they are, beside a plain question.
absl::Status Renderer::TakesTools(const Form& form) const {
  const json::array question{json::object{{"role", "user"}, {"content", "?"}}};
  return Render(question, form).status();
}

absl::StatusOr<Rendering> Renderer::Run() {
  Normalize();
  const MarkedConversation marked(messages_);
  absl::StatusOr<Rendering> own = Try(marked, Form());
  if (own.ok()) return own;
  bool complete_tools = false;
  if (has_tools_ && !TakesTools(Form()).ok()) {
    complete_tools = true;
    const absl::Status refusal = TakesTools({.complete_tools = true});
    if (!refusal.ok()) return AtField("tools", Annotate(refusal, "the model's template refuses them"));
  } else if (absl::IsResourceExhausted(own.status())) {
    return own;  // so would other forms
  }
  absl::Status error;
  for (const Form& form : OtherForms(complete_tools)) {
    absl::StatusOr<Rendering> rendering = Try(marked, form);
    if (rendering.ok() || absl::IsResourceExhausted(rendering.status())) return rendering;
    error = rendering.status();
  }
  return error;
}

}  // namespace

absl::StatusOr<Rendering> RenderConversation(const ChatTemplate& chat_template, const Abilities& abilities,
                                             json::object request, const json::object& model, const std::tm& now) {
  return Renderer(chat_template, abilities, std::move(request), model, now).Run();
}

}  // namespace inferd::conversation
