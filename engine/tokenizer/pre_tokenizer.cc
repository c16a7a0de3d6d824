#include "engine/tokenizer/pre_tokenizer.h"

#include <limits>
#include <utility>

#include "config/base/status.h"

namespace inferd::tokenizer {

absl::StatusOr<PreTokenizer> PreTokenizer::Create(std::span<const SplitRule> rules, bool use_scanners) {
  PreTokenizer words;
  for (const SplitRule& rule : rules) {
    Step step{};
    if (rule.scanner != nullptr && (use_scanners || rule.pattern.empty())) {
      step.scanner = rule.scanner;
    } else {
      ASSIGN_OR_RETURN(step.pattern, Pattern::Compile(rule.pattern));
    }
    words.steps_.push_back(std::move(step));
  }
  return words;
}

absl::Status PreTokenizer::Split(std::string_view text, std::vector<uint32_t>& ends) const {
  if (text.size() >= std::numeric_limits<uint32_t>::max()) {
    return InvalidArgument("a text of {} bytes, expected less than 4 GiB", text.size());
  }
  ends.clear();
  if (text.empty()) return absl::OkStatus();
  ends.push_back(static_cast<uint32_t>(text.size()));
  std::vector<uint32_t> finer;
  for (const Step& step : steps_) {
    finer.clear();
    uint32_t begin = 0;
    for (const uint32_t end : ends) {
      RETURN_IF_ERROR(step.Split(text, begin, end, finer));
      begin = end;
    }
    std::swap(ends, finer);
  }
  return absl::OkStatus();
}

absl::Status PreTokenizer::Step::Split(std::string_view text, uint32_t begin, uint32_t end,
                                       std::vector<uint32_t>& ends) const {
  if (scanner != nullptr) {
    scanner(text.substr(begin, end - begin), begin, ends);
    return absl::OkStatus();
  }
  uint32_t done = begin;
  const auto cut = [&](size_t at) {
    if (begin + at > done) ends.push_back(done = static_cast<uint32_t>(begin + at));
  };
  RETURN_IF_ERROR(pattern->ForEachMatch(text.substr(begin, end - begin), [&](size_t match_begin, size_t match_end) {
    cut(match_begin);
    cut(match_end);
  }));
  cut(end - begin);
  return absl::OkStatus();
}

}  // namespace inferd::tokenizer
