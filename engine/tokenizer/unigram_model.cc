// SentencePiece's unigram model (T5, XLM-R): of all ways to spell the text with tokens, the one whose log-probabilities
// have the largest sum (Viterbi; Kudo 2018, "Subword Regularization"). Text is normalized first.
#include <algorithm>
#include <limits>
#include <utility>

#include "config/base/status.h"
#include "engine/tokenizer/charsmap.h"
#include "engine/tokenizer/prefix_set.h"
#include "engine/tokenizer/spaces.h"
#include "engine/tokenizer/subword_model.h"
#include "engine/tokenizer/utf8.h"

namespace inferd::tokenizer {
namespace {

constexpr double kUnknownPenalty = 10.0;  // below the least probable token, as in SentencePiece

class UnigramModel final : public SubwordModel {
 public:
  UnigramModel(const Vocabulary& vocabulary, Charsmap charsmap, SpaceOptions spaces)
      : vocabulary_(vocabulary), charsmap_(charsmap), spaces_(spaces), has_bytes_(vocabulary.byte_token(0) >= 0) {
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
    if (text.size() >= UINT32_MAX / 64) return ResourceExhausted("text: {} bytes, expected less than 64 MiB", text.size());
    const std::string spelled = SpelledSpaces(charsmap_.Normalize(text), spaces_);
    AppendBest(spelled, BestSteps(spelled), ids);
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

  // steps[end]: of the prefix of `end` bytes; only those at the ends of characters count.
  std::vector<Step> BestSteps(std::string_view text) const {
    std::vector<Step> steps(text.size() + 1);
    steps[0].score = 0;
    for (uint32_t at = 0; at < text.size();) {
      const uint32_t character_bytes = DecodeUtf8(text.data() + at, text.data() + text.size()).bytes;
      const auto offer = [&](int32_t id, size_t bytes, double score) {
        Step& step = steps[at + bytes];
        if (steps[at].score + score > step.score) step = {steps[at].score + score, at, id};
      };
      bool is_token = false;
      tokens_.ForEachPrefix(text.substr(at), [&](int32_t id, size_t bytes) {
        is_token |= bytes == character_bytes;
        offer(id, bytes, vocabulary_.score(id));
      });
      if (!is_token) offer(kUnknown, character_bytes, unknown_score_);
      at += character_bytes;
    }
    return steps;
  }

  // Neighbouring unknown characters are one unknown token, or the tokens of their bytes.
  void AppendBest(std::string_view text, const std::vector<Step>& steps, std::vector<int32_t>& ids) const {
    std::vector<uint32_t> ends;
    for (uint32_t end = static_cast<uint32_t>(text.size()); end > 0; end = steps[end].begin) ends.push_back(end);
    bool unknown_before = false;
    for (auto end = ends.rbegin(); end != ends.rend(); ++end) {
      const Step& step = steps[*end];
      const bool unknown = step.id == kUnknown;
      if (!unknown) {
        ids.push_back(step.id);
      } else if (has_bytes_) {
        for (uint32_t at = step.begin; at < *end; ++at) {
          ids.push_back(vocabulary_.byte_token(static_cast<uint8_t>(text[at])));
        }
      } else if (!unknown_before) {
        ids.push_back(*vocabulary_.unknown());
      }
      unknown_before = unknown;
    }
  }

  const Vocabulary& vocabulary_;
  Charsmap charsmap_;
  SpaceOptions spaces_;
  bool has_bytes_;
  PrefixSet tokens_;
  double unknown_score_;
};

}  // namespace

MaybeModel CreateUnigramModel(const VocabularyData& data, const Vocabulary& vocabulary) {
  if (data.scores.empty()) return InvalidArgument("tokenizer.ggml.scores: missing, expected one for each token");
  int bytes = 0;
  for (int byte = 0; byte < 256; ++byte) bytes += vocabulary.byte_token(static_cast<uint8_t>(byte)) >= 0 ? 1 : 0;
  if (bytes != 0 && bytes != 256) {
    return InvalidArgument("tokenizer.ggml.tokens: {} byte tokens, expected none or all 256", bytes);
  }
  if (bytes == 0 && !vocabulary.unknown().has_value()) {
    return InvalidArgument("tokenizer.ggml.unknown_token_id: missing, and there are no byte tokens");
  }
  ASSIGN_OR_RETURN(Charsmap charsmap, Charsmap::Create(data.charsmap));
  const SpaceOptions spaces = {.prefix = data.add_space_prefix.value_or(true),
                               .remove_extra = data.remove_extra_spaces.value_or(true)};
  return std::make_unique<UnigramModel>(vocabulary, charsmap, spaces);
}

}  // namespace inferd::tokenizer
