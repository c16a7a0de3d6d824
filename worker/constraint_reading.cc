#include "worker/constraint_reading.h"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "config/base/status.h"
#include "engine/constraint/answer_constraint.h"
#include "inferd/v1/inference.pb.h"
#include "worker/prompt.h"

namespace inferd::worker {
namespace {

using constraint::OutputKind;

void ReadContent(const v1::Constraint& wire, constraint::OutputWish& wish) {
  switch (wire.kind_case()) {
    case v1::Constraint::kJsonObject:
      if (wire.json_object()) wish.kind = OutputKind::kJsonObject;
      return;
    case v1::Constraint::kJsonSchema:
      wish.kind = OutputKind::kJsonSchema;
      wish.text = wire.json_schema();
      return;
    case v1::Constraint::kRegex:
      wish.kind = OutputKind::kRegex;
      wish.text = wire.regex();
      return;
    case v1::Constraint::kGrammar:
      wish.kind = OutputKind::kGrammar;
      wish.text = wire.grammar();
      return;
    case v1::Constraint::kChoice: {
      wish.kind = OutputKind::kChoice;
      const auto& texts = wire.choice().texts();
      wish.text = boost::json::serialize(boost::json::array(texts.begin(), texts.end()));
      return;
    }
    case v1::Constraint::KIND_NOT_SET:
      return;
  }
}

// What a control token with this spelling is, if nothing but the token itself can stand for it.
constraint::AnswerGrammar::FindControl FindControlIn(const tokenizer::Tokenizer& tokenizer) {
  return [&tokenizer](std::string_view spelling) -> std::optional<int32_t> {
    const std::optional<int32_t> id = tokenizer.FindSpelling(spelling);
    if (!id || tokenizer.IsEndOfGeneration(*id) || !tokenizer.TokenBytes(*id, /*with_special=*/false).empty()) {
      return std::nullopt;
    }
    return id;
  };
}

}  // namespace

absl::StatusOr<std::optional<constraint::ConstraintSource>> ReadConstraint(const LoadedModel& model,
                                                                           const v1::GenerateRequest& wire,
                                                                           bool opens_reasoning) {
  constraint::OutputWish wish;
  ReadContent(wire.constraint(), wish);
  ToolChoice choice = ToolChoice::kNone;
  if (wire.has_chat()) {
    const v1::ChatPrompt& chat = wire.chat();
    ASSIGN_OR_RETURN(choice, ToolChoiceOf(chat));
    if (choice != ToolChoice::kNone) {
      wish.calls = {.tools_json = chat.tools_json(),
                    .parallel = !chat.has_parallel_tool_calls() || chat.parallel_tool_calls()};
      ASSIGN_OR_RETURN(wish.calls->name, ForcedTool(chat));
    }
    wish.format = model.answer_format;
    wish.in_reasoning = opens_reasoning;
    wish.find_control = FindControlIn(*model.tokenizer);
  }
  if (choice != ToolChoice::kForced && wish.kind == OutputKind::kFree) {
    if (choice == ToolChoice::kNone || !wish.format.has_calls() ||
        !constraint::AsksForStrictCalls(wish.calls->tools_json)) {
      return std::nullopt;
    }
    wish.calls_after_text = true;
  }
  if (choice == ToolChoice::kForced && wish.kind != OutputKind::kFree) {
    return InvalidField("constraint", "cannot be combined with a tool_choice that asks for a call");
  }
  return constraint::SourceOf(std::move(wish));
}

}  // namespace inferd::worker
