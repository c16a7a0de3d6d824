#include "engine/tokenizer/special_matcher.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"

namespace inferd::tokenizer {
namespace {

bool IsSpace(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

// Files do not say which special tokens swallow white space (lstrip, rstrip in tokenizer.json); these families have
// some.
void MarkPhi3(const Vocabulary& vocabulary, std::vector<bool>& strips_right) {
  strips_right.assign(vocabulary.size(), false);
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    const TokenKind kind = vocabulary.kind(id);
    strips_right[id] = kind == TokenKind::kControl || kind == TokenKind::kUserDefined || kind == TokenKind::kUnknown;
  }
  for (const std::string_view spelling : {"<unk>", "<s>", "<|endoftext|>"}) {
    const int32_t id = vocabulary.Find(spelling);
    if (id >= 0) strips_right[id] = false;
  }
}

bool IsPhi3(std::string_view model_name) {
  std::string name(model_name);
  std::transform(name.begin(), name.end(), name.begin(), absl::ascii_tolower);
  return name.find("phi-3") != std::string::npos || name.find("phi3") != std::string::npos;
}

}  // namespace

SpecialMatcher::SpecialMatcher(const Vocabulary& vocabulary, const VocabularyData& data) : vocabulary_(vocabulary) {
  std::vector<PrefixSet::Member> members;
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    const TokenKind kind = vocabulary.kind(id);
    const bool special = kind == TokenKind::kControl || kind == TokenKind::kUserDefined || kind == TokenKind::kUnknown;
    if (special && !vocabulary.spelling(id).empty()) members.push_back({vocabulary.spelling(id), id});
  }
  tokens_ = PrefixSet(std::move(members));
  if (IsPhi3(data.model_name)) MarkPhi3(vocabulary, strips_right_);
  const int32_t mask = vocabulary.Find("<mask>");
  if (mask >= 0 && data.pre.starts_with("jina-v2-")) {
    strips_left_.assign(vocabulary.size(), false);
    strips_left_[mask] = true;
  }
}

void SpecialMatcher::Split(std::string_view text, std::span<const ByteRange> trusted,
                           std::vector<Fragment>& fragments) const {
  size_t text_begin = 0;  // of the text that is not yet in a fragment
  for (size_t at = 0; at < text.size();) {
    if (!tokens_.MayBegin(text[at])) {
      ++at;
      continue;
    }
    while (!trusted.empty() && trusted.front().end <= at) trusted = trusted.subspan(1);
    const bool is_trusted = !trusted.empty() && trusted.front().begin <= at;
    const Match match = LongestAt(text, at, is_trusted ? trusted.front().end : at);
    if (match.id < 0) {
      ++at;
      continue;
    }
    size_t text_end = at;
    if (!strips_left_.empty() && strips_left_[match.id]) {
      while (text_end > text_begin && IsSpace(text[text_end - 1])) --text_end;
    }
    if (text_end > text_begin) fragments.push_back({-1, {text_begin, text_end}});
    fragments.push_back({match.id, {at, at + match.bytes}});
    at += match.bytes;
    if (!strips_right_.empty() && strips_right_[match.id]) {
      while (at < text.size() && IsSpace(text[at])) ++at;
    }
    text_begin = at;
  }
  if (text_begin < text.size()) fragments.push_back({-1, {text_begin, text.size()}});
}

SpecialMatcher::Match SpecialMatcher::LongestAt(std::string_view text, size_t at, size_t trusted_end) const {
  Match longest;
  tokens_.ForEachPrefix(text.substr(at), [&](int32_t id, size_t bytes) {
    if (!vocabulary_.is_protected(id) || at + bytes <= trusted_end) longest = {id, bytes};
  });
  return longest;
}

}  // namespace inferd::tokenizer
