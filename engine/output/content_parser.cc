// The parser for models and requests without tools and reasoning.
#include "engine/output/output_parser.h"

namespace inferd::output {
namespace {

class ContentParser : public OutputParser {
 public:
  std::vector<OutputPart> Push(std::string_view text) override {
    if (text.empty()) return {};
    return {{.kind = PartKind::kContent, .text = std::string(text)}};
  }
  std::vector<OutputPart> Finish() override { return {}; }
  bool has_tool_calls() const override { return false; }
};

}  // namespace

std::unique_ptr<OutputParser> MakeContentParser() { return std::make_unique<ContentParser>(); }

}  // namespace inferd::output
