#include "engine/output/stop_matcher.h"

#include <utility>

#include "config/base/status.h"

namespace inferd::output {

absl::Status StopTexts::Check(const std::vector<std::string>& texts) {
  return sampling::CheckTexts("stop", texts, kMostTexts);
}

absl::StatusOr<std::shared_ptr<const StopTexts>> StopTexts::Create(const std::vector<std::string>& texts) {
  RETURN_IF_ERROR(Check(texts));
  return std::shared_ptr<const StopTexts>(new StopTexts(texts));
}

std::string StopMatcher::Push(std::string_view text) {
  if (stopped_) return "";
  for (size_t i = 0; i < text.size(); ++i) {
    state_ = texts_->automaton_.Next(state_, text[i]);
    const int32_t match = texts_->automaton_.LongestMatch(state_);
    if (match < 0) continue;
    stopped_ = texts_->texts_[match];
    held_.append(text.substr(0, i + 1));
    if (!include_) held_.resize(held_.size() - stopped_->size());
    return std::exchange(held_, "");
  }
  held_.append(text);
  // The matched bytes may reach into a character, but never begin within one: stop texts are valid UTF-8.
  std::string out = held_.substr(0, held_.size() - static_cast<size_t>(texts_->automaton_.Depth(state_)));
  held_.erase(0, out.size());
  return out;
}

std::string StopMatcher::Finish() { return std::exchange(held_, ""); }

}  // namespace inferd::output
