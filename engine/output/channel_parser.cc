// Answers of gpt-oss ("harmony"): messages, each with a header that names its channel and its recipient.
//
//   <|channel|>analysis<|message|>reasoning<|end|><|start|>assistant<|channel|>final<|message|>content
//   <|start|>assistant<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{"arguments": 1}<|call|>
#include <algorithm>
#include <utility>

#include "engine/output/answer_parser.h"

namespace inferd::output {
namespace {

constexpr std::string_view kMark = "<|";  // how all marks begin
constexpr std::string_view kMessage = "<|message|>";
constexpr std::string_view kEnds[] = {"<|end|>", "<|call|>", "<|return|>", "<|start|>"};
constexpr std::string_view kToFunction = "to=functions.";

class ChannelParser final : public OutputParser {
 public:
  explicit ChannelParser(AnswerOptions options) : options_(std::move(options)) {}

  std::vector<OutputPart> Push(std::string_view text) override {
    if (ended()) return {};
    held_ += text;
    if (!began_) Begin();
    while (!ended() && (in_message_ ? StepMessage() : StepHeader())) {
    }
    return std::exchange(parts_, {});
  }

  std::vector<OutputPart> Finish() override {
    if (in_message_) Emit(held_);
    held_.clear();
    return std::exchange(parts_, {});
  }

  bool has_tool_calls() const override { return calls_ > 0; }
  bool ended() const override { return calls_ > 0 && !options_.parallel_calls && !in_message_; }

 private:
  // An answer that does not begin with a mark has no header: it is content.
  void Begin() {
    const std::string_view beginning = kMark.substr(0, held_.size());
    in_message_ = !held_.starts_with(beginning);
    began_ = in_message_ || held_.size() >= kMark.size();
  }

  bool StepHeader() {
    const size_t end = held_.find(kMessage);
    if (end == held_.npos) return false;
    Open(std::string_view(held_).substr(0, end));
    held_.erase(0, end + kMessage.size());
    in_message_ = true;
    return true;
  }

  void Open(std::string_view header) {
    const size_t recipient = header.find(kToFunction);
    if (recipient != header.npos && !options_.tools.empty()) {
      const std::string_view name = header.substr(recipient + kToFunction.size());
      kind_ = PartKind::kToolCall;
      call_ = calls_++;
      parts_.push_back({.kind = kind_,
                        .tool_call = {.index = call_,
                                      .id = options_.call_id(call_),
                                      .name = std::string(name.substr(0, name.find_first_of(" <")))}});
    } else {
      kind_ = header.find("analysis") != header.npos ? PartKind::kReasoning : PartKind::kContent;
    }
  }

  // Gives what cannot belong to the end of the message.
  bool StepMessage() {
    size_t found = held_.npos;
    std::string_view end_mark;
    size_t kept = 0;
    for (const std::string_view mark : kEnds) {
      const size_t at = held_.find(mark);
      if (at < found) {
        found = at;
        end_mark = mark;
      }
      for (size_t length = std::min(held_.size(), mark.size() - 1); length > kept; --length) {
        if (held_.ends_with(mark.substr(0, length))) kept = length;
      }
    }
    const size_t given = found != held_.npos ? found : held_.size() - kept;
    Emit(held_.substr(0, given));
    held_.erase(0, given + (found != held_.npos ? end_mark.size() : 0));
    if (found == held_.npos) return false;
    in_message_ = false;
    return true;
  }

  void Emit(std::string text) {
    if (text.empty()) return;
    if (kind_ == PartKind::kToolCall) {
      parts_.push_back({.kind = kind_, .tool_call = {.index = call_, .arguments = std::move(text)}});
    } else {
      parts_.push_back({.kind = kind_, .text = std::move(text)});
    }
  }

  const AnswerOptions options_;
  std::string held_;
  bool began_ = false;
  bool in_message_ = false;
  PartKind kind_ = PartKind::kContent;
  uint32_t call_ = 0;  // index of the call that the message is
  uint32_t calls_ = 0;
  std::vector<OutputPart> parts_;
};

}  // namespace

std::unique_ptr<OutputParser> MakeChannelParser(AnswerOptions options) {
  return std::make_unique<ChannelParser>(std::move(options));
}

}  // namespace inferd::output
