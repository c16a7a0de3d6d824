#include "worker/ranking_prompt.h"

#include <algorithm>
#include <string>
#include <utility>

#include "config/base/status.h"

namespace inferd::worker {
namespace {

constexpr std::string_view kQuery = "{query}", kDocument = "{document}";
constexpr size_t kMostBytesPerToken = 64;  // on average of a document that is cut

// The template with its places filled, each text a segment of its own.
std::vector<tokenizer::Segment> Fill(std::string_view rest, std::string_view query, std::string_view document) {
  std::vector<tokenizer::Segment> segments;
  while (!rest.empty()) {
    const size_t at_query = rest.find(kQuery), at_document = rest.find(kDocument);
    const size_t at = std::min({at_query, at_document, rest.size()});
    segments.push_back({.text = std::string(rest.substr(0, at)), .trusted = true});
    if (at == rest.size()) break;
    const bool is_query = at == at_query;
    segments.push_back({.text = std::string(is_query ? query : document), .trusted = false});
    rest.remove_prefix(at + (is_query ? kQuery : kDocument).size());
  }
  return segments;
}

absl::StatusOr<RankingTokens> Encode(const tokenizer::Tokenizer& tokenizer, std::string_view rank_template,
                                     std::string_view query, std::string_view document) {
  if (rank_template.empty()) {
    ASSIGN_OR_RETURN(tokenizer::TokenPair pair, tokenizer.EncodePair(query, document));
    return RankingTokens{std::move(pair.ids), pair.second};
  }
  ASSIGN_OR_RETURN(std::vector<int32_t> ids, tokenizer.EncodeSegments(Fill(rank_template, query, document)));
  return RankingTokens{std::move(ids), std::nullopt};
}

// The beginning of a character, no later than `at`.
size_t CharacterBegin(std::string_view text, size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

}  // namespace

absl::StatusOr<RankingTokens> RankingPrompt(const tokenizer::Tokenizer& tokenizer, std::string_view rank_template,
                                            std::string_view query, std::string_view document, size_t most_tokens) {
  ASSIGN_OR_RETURN(RankingTokens prompt, Encode(tokenizer, rank_template, query, document));
  if (most_tokens == 0 || prompt.ids.size() <= most_tokens) return prompt;
  // Tokens of a text's end depend on what follows, so that each length is tried as a whole.
  ASSIGN_OR_RETURN(prompt, Encode(tokenizer, rank_template, query, ""));
  if (prompt.ids.size() > most_tokens) return prompt;
  size_t fits = 0, beyond = std::min(document.size(), most_tokens * kMostBytesPerToken);
  while (beyond - fits > 1) {
    const size_t middle = fits + (beyond - fits) / 2;
    const size_t end = CharacterBegin(document, middle);
    if (end <= fits) {
      beyond = middle;  // there is no other character between
      continue;
    }
    ASSIGN_OR_RETURN(RankingTokens cut, Encode(tokenizer, rank_template, query, document.substr(0, end)));
    if (cut.ids.size() <= most_tokens) {
      fits = end;
      prompt = std::move(cut);
    } else {
      beyond = end;
    }
  }
  return prompt;
}

}  // namespace inferd::worker
