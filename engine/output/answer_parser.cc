// Answers with marks around reasoning and calls. The state says what the text that is held may become:
//
//   content --reasoning_open--> reasoning --reasoning_close--> content
//   content --open of a call--> call --its end--> content
#include "engine/output/answer_parser.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/output/json_scan.h"

namespace inferd::output {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

// The length of the longest end of the text that a mark begins with, but not all of the mark.
size_t PartialMark(std::string_view text, std::string_view mark) {
  for (size_t length = std::min(text.size(), mark.empty() ? 0 : mark.size() - 1); length > 0; --length) {
    if (text.ends_with(mark.substr(0, length))) return length;
  }
  return 0;
}

class AnswerParser final : public OutputParser {
 public:
  explicit AnswerParser(AnswerOptions options) : options_(std::move(options)) {
    if (options_.tools.empty()) options_.format.calls = nullptr;
    if (options_.in_reasoning) Enter(State::kReasoning);
  }

  std::vector<OutputPart> Push(std::string_view text) override {
    if (ended()) return {};
    held_ += text;
    while (Step()) {
    }
    return std::exchange(parts_, {});
  }

  std::vector<OutputPart> Finish() override {
    if (ended()) return {};
    finishing_ = true;
    while (Step()) {
    }
    if (state_ == State::kCall && !ended() && !EmitCalls(held_)) {
      Emit(PartKind::kContent, std::string(options_.format.calls->open) + held_);
    } else if (state_ != State::kCall && !ended()) {
      Emit(state_ == State::kReasoning ? PartKind::kReasoning : PartKind::kContent, held_);
    }
    held_.clear();
    return std::exchange(parts_, {});
  }

  bool has_tool_calls() const override { return calls_ > 0; }
  bool ended() const override { return calls_ > 0 && !options_.parallel_calls; }

 private:
  enum class State : uint8_t { kContent, kReasoning, kCall };
  struct Mark {
    std::string_view text;
    State next;
  };

  void Enter(State state) {
    state_ = state;
    trims_ = true;
    scan_ = JsonScan();
    searched_ = 0;
  }

  // Whether the held text led on to another state: there may be more to do.
  bool Step() {
    if (ended()) return false;
    if (state_ == State::kCall) return StepCall();
    if (MayBeBareCall()) return StepBareCall();
    return StepText();
  }

  std::vector<Mark> Marks() const {
    const AnswerFormat& format = options_.format;
    if (state_ == State::kReasoning) return {{format.reasoning_close, State::kContent}};
    std::vector<Mark> marks;
    if (!format.reasoning_open.empty()) marks.push_back({format.reasoning_open, State::kReasoning});
    if (format.calls != nullptr) {
      marks.push_back({format.calls->open, State::kCall});
      for (const std::string_view around : {format.calls->list_begin, format.calls->list_end}) {
        if (!around.empty()) marks.push_back({around, State::kContent});
      }
    }
    return marks;
  }

  // Gives the text before the next mark, or all that cannot belong to one. Whitespace waits for what comes behind it.
  bool StepText() {
    size_t found = held_.npos;
    Mark next{};
    size_t kept = 0;
    for (const Mark& mark : Marks()) {
      const size_t at = held_.find(mark.text);
      if (at < found) {
        found = at;
        next = mark;
      }
      kept = std::max(kept, PartialMark(held_, mark.text));
    }
    const PartKind kind = state_ == State::kReasoning ? PartKind::kReasoning : PartKind::kContent;
    const size_t limit = found != held_.npos ? found : held_.size() - kept;
    const size_t last = std::string_view(held_).substr(0, limit).find_last_not_of(kSpace);
    const size_t given = last == held_.npos ? 0 : last + 1;
    Emit(kind, held_.substr(0, given));
    if (found == held_.npos) {
      held_.erase(0, given);
      return false;
    }
    held_.erase(0, found + next.text.size());
    Enter(next.next);
    return true;
  }

  void Emit(PartKind kind, std::string text) {
    if (trims_) text.erase(0, std::min(text.find_first_not_of(kSpace), text.size()));
    if (text.empty()) return;
    trims_ = false;
    started_ = true;
    parts_.push_back({.kind = kind, .text = std::move(text)});
  }

  bool EmitCalls(std::string_view text) {
    std::optional<std::vector<Call>> calls = ReadCalls(*options_.format.calls, text, options_.tools);
    if (!calls) return false;
    for (Call& call : *calls) {
      if (ended()) break;
      const uint32_t index = calls_++;
      parts_.push_back({.kind = PartKind::kToolCall,
                        .tool_call = {.index = index,
                                      .id = options_.call_id(index),
                                      .name = std::move(call.name),
                                      .arguments = std::move(call.arguments)}});
    }
    return true;
  }

  bool MayBeBareCall() const {
    const CallSyntax* calls = options_.format.calls;
    return calls != nullptr && calls->bare && state_ == State::kContent && !started_;
  }

  // An answer of calls alone, with semicolons between them.
  bool StepBareCall() {
    const size_t begin = held_.find_first_not_of(" \t\r\n;");
    if (begin == held_.npos) return false;
    if (held_[begin] != '{') return StepText();
    const size_t end = scan_.End(held_, begin);
    if (end == held_.npos) return false;
    const std::string text = held_.substr(begin, end - begin);
    const auto calls = ReadCalls(*options_.format.calls, text, options_.tools);
    const bool known = calls && options_.tools.Has(calls->front().name);
    if (!known || !EmitCalls(text)) {
      started_ = true;
      return StepText();
    }
    held_.erase(0, end);
    Enter(State::kContent);
    return true;
  }

  // Where the text of the call ends, and the mark behind it; nullopt: not yet. `bad`: it is no call.
  struct CallEnd {
    size_t text;
    size_t mark;
  };
  std::optional<CallEnd> FindCallEnd(bool& bad) {
    const CallSyntax& syntax = *options_.format.calls;
    const bool is_json = syntax.body == CallBody::kJson;
    const bool ends_with_json = is_json || syntax.close.empty();
    if (!ends_with_json) {
      const size_t close = held_.find(syntax.close, searched_);
      searched_ = held_.size() - std::min(held_.size(), syntax.close.size());
      if (close == held_.npos) return std::nullopt;
      return CallEnd{close, close + syntax.close.size()};
    }
    size_t begin = 0;
    if (!is_json) {
      begin = held_.find(syntax.name_end);
      if (begin == held_.npos) return std::nullopt;
      begin += syntax.name_end.size();
    }
    begin = held_.find_first_not_of(kSpace, begin);
    if (begin == held_.npos) return std::nullopt;
    bad = held_[begin] != '{' && held_[begin] != '[';
    const size_t end = bad ? held_.npos : scan_.End(held_, begin);
    if (end == held_.npos) return std::nullopt;
    if (syntax.close.empty()) return CallEnd{end, end};
    const size_t mark = std::min(held_.find_first_not_of(kSpace, end), held_.size());
    const std::string_view rest = std::string_view(held_).substr(mark);
    if (rest.starts_with(syntax.close)) return CallEnd{end, mark + syntax.close.size()};
    if (syntax.close.starts_with(rest) && !finishing_) return std::nullopt;
    return CallEnd{end, end};  // the model forgot the mark
  }

  bool StepCall() {
    bool bad = false;
    const std::optional<CallEnd> end = FindCallEnd(bad);
    if (end && EmitCalls(held_.substr(0, end->text))) {
      held_.erase(0, end->mark);
      Enter(State::kContent);
      return true;
    }
    if (!bad && !end) return false;
    // Not a call: the mark and what is behind it are content.
    const size_t given = end ? end->mark : 0;
    Enter(State::kContent);
    Emit(PartKind::kContent, std::string(options_.format.calls->open) + held_.substr(0, given));
    held_.erase(0, given);
    return true;
  }

  AnswerOptions options_;
  State state_ = State::kContent;
  std::string held_;      // text that is not decided yet
  JsonScan scan_;         // of the JSON at the start of held_
  size_t searched_ = 0;   // of held_, for the end of a call
  bool trims_ = false;    // whitespace at the start of the text is dropped
  bool started_ = false;  // some content or reasoning was given
  bool finishing_ = false;
  uint32_t calls_ = 0;
  std::vector<OutputPart> parts_;
};

}  // namespace

std::unique_ptr<OutputParser> MakeAnswerParser(AnswerOptions options) {
  if (options.format.channels) return MakeChannelParser(std::move(options));
  if (options.format.calls == nullptr && options.format.reasoning_open.empty()) return MakeContentParser();
  return std::make_unique<AnswerParser>(std::move(options));
}

}  // namespace inferd::output
