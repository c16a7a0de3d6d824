// Answers with marks around reasoning and calls. The state says what the text that is held may become:
//
//   content --reasoning_open--> reasoning --reasoning_close--> content
//   content --open of a call--> call --its end--> call end --mark or other text--> content
#include "engine/output/answer_parser.h"

#include <algorithm>
#include <utility>

#include "engine/output/call_reader.h"

namespace inferd::output {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr size_t kLeastOfMark = 3;

// The length of the longest end of the text that a mark begins with, but not all of the mark.
size_t PartialMark(std::string_view text, std::string_view mark) {
  for (size_t length = std::min(text.size(), mark.empty() ? 0 : mark.size() - 1); length > 0; --length) {
    if (text.ends_with(mark.substr(0, length))) return length;
  }
  return 0;
}

class AnswerParser final : public OutputParser, private CallSink {
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

  // Of a call that was cut, what was told is all; its marks are nobody's text.
  std::vector<OutputPart> Finish() override {
    if (ended()) return {};
    while (Step()) {
    }
    const bool is_bare_call = options_.must_call || (reader_ != nullptr && reader_->LooksLikeCall());
    const bool is_bare_text = reader_ != nullptr && state_ == State::kContent && !is_bare_call;
    if (is_bare_text) held_ = raw_ + held_;
    const bool is_text =
        is_bare_text || (reader_ == nullptr && (state_ == State::kReasoning || state_ == State::kContent));
    if (is_text) Emit(state_ == State::kReasoning ? PartKind::kReasoning : PartKind::kContent, WithoutCutMark());
    held_.clear();
    return std::exchange(parts_, {});
  }

  bool has_tool_calls() const override { return calls_ > 0; }
  bool ended() const override { return complete_calls_ > 0 && !options_.parallel_calls; }

 private:
  enum class State : uint8_t { kContent, kReasoning, kCall, kCallEnd };
  struct Mark {
    std::string_view text;
    State next;
  };

  void BeginCall(std::string name) override {
    raw_.clear();
    if (ended()) return;
    const uint32_t index = calls_++;
    parts_.push_back({.kind = PartKind::kToolCall,
                      .tool_call = {.index = index, .id = options_.call_id(index), .name = std::move(name)}});
  }
  void AddArguments(std::string_view piece) override {
    if (ended() || piece.empty()) return;
    const uint32_t index = calls_ - 1;
    if (!parts_.empty() && parts_.back().kind == PartKind::kToolCall && parts_.back().tool_call.index == index) {
      parts_.back().tool_call.arguments += piece;
    } else {
      parts_.push_back({.kind = PartKind::kToolCall, .tool_call = {.index = index, .arguments = std::string(piece)}});
    }
  }
  void EndCall() override { complete_calls_ = calls_; }

  void Enter(State state) {
    state_ = state;
    trims_ = true;
    label_expected_ = state == State::kReasoning && !options_.in_reasoning && !options_.format.reasoning_label.empty();
    reader_.reset();
    raw_.clear();
  }

  // Whether the held text led on to another state: there may be more to do.
  bool Step() {
    if (ended()) return false;
    if (state_ == State::kCall) return StepCall();
    if (state_ == State::kCallEnd) return StepCallEnd();
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
    if (!TakeLabel()) return false;
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

  // False: what is held may become the label of the reasoning.
  bool TakeLabel() {
    if (!label_expected_ || held_.empty()) return true;
    const std::string_view label = options_.format.reasoning_label;
    if (held_.size() < label.size() && label.starts_with(held_)) return false;
    label_expected_ = false;
    if (held_.starts_with(label)) held_.erase(0, label.size());
    return true;
  }

  void Emit(PartKind kind, std::string text) {
    if (trims_) text.erase(0, std::min(text.find_first_not_of(kSpace), text.size()));
    if (text.empty()) return;
    trims_ = false;
    started_ = true;
    parts_.push_back({.kind = kind, .text = std::move(text)});
  }

  bool MayBeBareCall() const {
    const CallSyntax* calls = options_.format.calls;
    return calls != nullptr && calls->bare && state_ == State::kContent && !started_;
  }

  // An answer of calls alone, with semicolons between them.
  bool StepBareCall() {
    if (reader_ == nullptr) {
      const size_t begin = held_.find_first_not_of(" \t\r\n;");
      if (begin == held_.npos) return false;
      if (held_[begin] != '{') return StepText();
      raw_ = held_.substr(0, begin);
      held_.erase(0, begin);
      reader_ = MakeCallReader(*options_.format.calls, options_.tools, /*known_only=*/true);
    }
    switch (Read()) {
      case CallReader::State::kMore:
        return false;
      case CallReader::State::kDone:
        Enter(State::kContent);
        return true;
      case CallReader::State::kNoCall:
        break;
    }
    held_ = raw_ + held_;
    reader_.reset();
    raw_.clear();
    started_ = true;
    return StepText();
  }

  CallReader::State Read() {
    size_t at = 0;
    const uint32_t before = calls_;
    const CallReader::State state = reader_->Read(held_, at, *this);
    if (calls_ == before) raw_ += held_.substr(0, at);
    held_.erase(0, at);
    return state;
  }

  bool StepCall() {
    if (reader_ == nullptr) reader_ = MakeCallReader(*options_.format.calls, options_.tools, /*known_only=*/false);
    switch (Read()) {
      case CallReader::State::kMore:
        return false;
      case CallReader::State::kDone:
        Enter(State::kCallEnd);
        return true;
      case CallReader::State::kNoCall:
        break;
    }
    // The mark and what is behind it are content.
    const std::string text = std::string(options_.format.calls->open) + raw_;
    Enter(State::kContent);
    Emit(PartKind::kContent, text);
    return true;
  }

  // The mark that closes the call, unless the model forgot it; of code blocks, what is left of theirs.
  bool StepCallEnd() {
    const CallSyntax& syntax = *options_.format.calls;
    if (!syntax.close.empty()) {
      const size_t begin = held_.find_first_not_of(syntax.body == CallBody::kNamedJson ? " \t\r\n`" : kSpace);
      if (begin == held_.npos) return false;
      const std::string_view rest = std::string_view(held_).substr(begin);
      if (rest.size() < syntax.close.size() && syntax.close.starts_with(rest)) return false;
      if (rest.starts_with(syntax.close)) held_.erase(0, begin + syntax.close.size());
    }
    Enter(State::kContent);
    return true;
  }

  // What is held at the end without the beginning of a mark: of one or two bytes, it may be anything.
  std::string WithoutCutMark() const {
    size_t cut = 0;
    for (const Mark& mark : Marks()) cut = std::max(cut, PartialMark(held_, mark.text));
    return held_.substr(
        0, held_.size() - ((cut >= kLeastOfMark || options_.must_call) && options_.format.calls != nullptr ? cut : 0));
  }

  AnswerOptions options_;
  State state_ = State::kContent;
  std::string held_;                    // text that is not decided yet
  std::unique_ptr<CallReader> reader_;  // of the call that the text is in, or may be in
  std::string raw_;                     // what it has read and told nothing of
  bool label_expected_ = false;         // the reasoning has just begun
  bool trims_ = false;                  // whitespace at the start of the text is dropped
  bool started_ = false;                // some content or reasoning was given
  uint32_t calls_ = 0, complete_calls_ = 0;
  std::vector<OutputPart> parts_;
};

}  // namespace

std::unique_ptr<OutputParser> MakeAnswerParser(AnswerOptions options) {
  if (options.format.channels) return MakeChannelParser(std::move(options));
  if (options.format.calls == nullptr && options.format.reasoning_open.empty()) return MakeContentParser();
  return std::make_unique<AnswerParser>(std::move(options));
}

}  // namespace inferd::output
