// SentencePiece's unigram model (T5, XLM-R): of all ways to spell the text with tokens, the one whose log-probabilities
// have the largest sum (Viterbi; Kudo 2018, "Subword Regularization"). Text is normalized first.
#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "config/base/status.h"
#include "engine/tokenizer/charsmap.h"
#include "engine/tokenizer/prefix_set.h"
#include "engine/tokenizer/spaces.h"
#include "engine/tokenizer/subword_model.h"
#include "engine/tokenizer/utf8.h"

namespace inferd::tokenizer {
namespace {

constexpr double kUnknownPenalty = 10.0;  // below the least probable token, as in SentencePiece

bool HasByteTokens(const Vocabulary& vocabulary) {
  for (int byte = 0; byte < 256; ++byte) {
    if (vocabulary.byte_token(static_cast<uint8_t>(byte)) >= 0) return true;
  }
  return false;
}

class UnigramModel final : public SubwordModel {
 public:
  UnigramModel(const Vocabulary& vocabulary, Charsmap charsmap, SpaceOptions spaces)
      : vocabulary_(vocabulary),
        charsmap_(charsmap),
        spaces_(spaces),
        words_(vocabulary),
        has_bytes_(HasByteTokens(vocabulary)) {
    std::vector<PrefixSet::Member> members;
    double lowest = 0;
    for (int32_t id = 0; id < vocabulary.size(); ++id) {
      if (vocabulary.kind(id) != TokenKind::kNormal || vocabulary.spelling(id).empty()) continue;
      members.push_back({vocabulary.spelling(id), id});
      lowest = std::min(lowest, static_cast<double>(vocabulary.score(id)));
    }
    tokens_ = PrefixSet(std::move(members));
    unknown_score_ = lowest - kUnknownPenalty;
  }

  absl::Status Encode(std::string_view text, std::vector<int32_t>& ids) const override {
    if (text.size() >= UINT32_MAX / 64)
      return InvalidArgument("a text of {} bytes, expected less than 64 MiB", text.size());
    const std::string spelled = SpelledSpaces(charsmap_.Normalize(text), spaces_);
    Best best;
    SeenWords seen;
    for (size_t at = 0; at < spelled.size();) {
      const size_t end = words_.EndOfWord(spelled, at);
      RETURN_IF_ERROR(EncodeWord(std::string_view(spelled).substr(at, end - at), best, seen, ids));
      at = end;
    }
    return absl::OkStatus();
  }

  std::string TokenBytes(int32_t id) const override { return BytesOfSpelledToken(vocabulary_, id); }
  bool adds_leading_space() const override { return spaces_.prefix; }
  bool default_add_eos() const override { return true; }

 private:
  static constexpr int32_t kUnknown = -1;

  // The last token of the best spelling of a prefix of the text.
  struct Step {
    double score = -std::numeric_limits<double>::infinity();
    uint32_t begin = 0;  // where the token begins
    int32_t id = kUnknown;
  };

  // What one call works with, kept from word to word.
  struct Best {
    std::vector<Step> steps;     // steps[end]: of the prefix of `end` bytes; only the ends of characters count
    std::vector<uint32_t> ends;  // of the tokens of the best spelling, from the last to the first
    bool unknown_before = false;
  };

  // The words of the text so far whose tokens need no second search, and where those stand in the result.
  struct Stretch {
    size_t begin, end;
  };
  using SeenWords = absl::flat_hash_map<std::string_view, Stretch>;
  static constexpr size_t kLongestSeenWord_bytes = 64;

  absl::Status EncodeWord(std::string_view word, Best& best, SeenWords& seen, std::vector<int32_t>& ids) const {
    if (const auto known = seen.find(word); known != seen.end()) {
      for (size_t i = known->second.begin; i < known->second.end; ++i) ids.push_back(ids[i]);
      best.unknown_before = false;
      return absl::OkStatus();
    }
    FindBest(word, best);
    const size_t begin = ids.size();
    ASSIGN_OR_RETURN(const bool all_known, AppendBest(word, best, ids));
    if (all_known && word.size() <= kLongestSeenWord_bytes) seen[word] = {begin, ids.size()};
    return absl::OkStatus();
  }

  void FindBest(std::string_view word, Best& best) const {
    best.steps.assign(word.size() + 1, {});
    best.steps[0].score = 0;
    for (uint32_t at = 0; at < word.size();) {
      const uint32_t character_bytes = DecodeUtf8(word.data() + at, word.data() + word.size()).bytes;
      const auto offer = [&](int32_t id, size_t bytes, double score) {
        Step& step = best.steps[at + bytes];
        score += best.steps[at].score;
        if (score > step.score) step = {score, at, id};
      };
      bool is_token = false;
      tokens_.ForEachPrefix(word.substr(at), [&](int32_t id, size_t bytes) {
        is_token |= bytes == character_bytes;
        offer(id, bytes, vocabulary_.score(id));
      });
      if (!is_token) offer(kUnknown, character_bytes, unknown_score_);
      at += character_bytes;
    }
    best.ends.clear();
    for (uint32_t end = static_cast<uint32_t>(word.size()); end > 0; end = best.steps[end].begin) {
      best.ends.push_back(end);
    }
  }

  // Neighbouring unknown characters are one unknown token, or the tokens of their bytes. False: there were some.
  absl::StatusOr<bool> AppendBest(std::string_view word, Best& best, std::vector<int32_t>& ids) const {
    bool all_known = true;
    for (auto end = best.ends.rbegin(); end != best.ends.rend(); ++end) {
      const Step& step = best.steps[*end];
      const bool unknown = step.id == kUnknown;
      if (!unknown) {
        ids.push_back(step.id);
      } else if (has_bytes_ || !best.unknown_before) {
        RETURN_IF_ERROR(AppendByteTokens(vocabulary_, word.substr(step.begin, *end - step.begin), ids));
      }
      best.unknown_before = unknown;
      all_known &= !unknown;
    }
    return all_known;
  }

  const Vocabulary& vocabulary_;
  Charsmap charsmap_;
  SpaceOptions spaces_;
  SpelledWords words_;
  const bool has_bytes_;
  PrefixSet tokens_;
  double unknown_score_;
};

}  // namespace

MaybeModel CreateUnigramModel(const VocabularyData& data, const Vocabulary& vocabulary) {
  if (data.scores.empty()) return InvalidArgument("tokenizer.ggml.scores: missing, expected one for each token");
  if (!HasByteTokens(vocabulary) && !vocabulary.unknown().has_value()) {
    return InvalidArgument("tokenizer.ggml.unknown_token_id: missing, and there are no byte tokens");
  }
  ASSIGN_OR_RETURN(Charsmap charsmap, Charsmap::Create(data.charsmap));
  const SpaceOptions spaces = {.prefix = data.add_space_prefix.value_or(true),
                               .remove_extra = data.remove_extra_spaces.value_or(true)};
  return std::make_unique<UnigramModel>(vocabulary, charsmap, spaces);
}

}  // namespace inferd::tokenizer
