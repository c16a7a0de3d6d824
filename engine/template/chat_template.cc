#include "engine/template/chat_template.h"

#include <boost/json.hpp>
#include <utility>

#include "config/base/status.h"
#include "engine/template/interpreter.h"
#include "engine/template/parser.h"

namespace inferd::chat_template {
namespace {

class ParsedTemplate final : public ChatTemplate {
 public:
  ParsedTemplate(SyntaxTree tree, const Limits& limits) : tree_(std::move(tree)), limits_(limits) {}

  absl::StatusOr<RenderedPrompt> Render(const boost::json::object& request, const boost::json::object& model,
                                        const std::tm& now) const override {
    absl::StatusOr<Text> text = Interpreter(tree_, limits_, request, model, now).Run();
    if (!text.ok()) return Annotate(text.status(), "chat template");
    RenderedPrompt prompt;
    text->ForEachRun([&](std::string_view run, bool trusted) { prompt.runs.push_back({std::string(run), trusted}); });
    return prompt;
  }

 private:
  const SyntaxTree tree_;
  const Limits limits_;
};

}  // namespace

std::string RenderedPrompt::Text() const {
  std::string text;
  for (const Run& run : runs) text += run.text;
  return text;
}

absl::StatusOr<std::unique_ptr<ChatTemplate>> ChatTemplate::Parse(std::string_view source, const Limits& limits) {
  absl::StatusOr<SyntaxTree> tree = ParseTemplate(source);
  if (!tree.ok()) return Annotate(tree.status(), "chat template");
  return std::make_unique<ParsedTemplate>(*std::move(tree), limits);
}

}  // namespace inferd::chat_template
