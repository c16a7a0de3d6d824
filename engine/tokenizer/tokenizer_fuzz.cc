// Any text through vocabularies of each family, and vocabularies made of any bytes: no crash, ids within the
// vocabulary, and the text back where the family keeps it.
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "config/base/status.h"
#include "engine/tokenizer/split_rules.h"
#include "engine/tokenizer/vocabulary_testing.h"
#include "engine/tokenizer/vocabulary_tokenizer.h"

namespace inferd::tokenizer {
namespace {

struct Made {
  TestVocabulary vocabulary;
  std::unique_ptr<Tokenizer> tokenizer;
};

std::vector<Made> MakeAll() {
  std::vector<Made> all;
  for (const SplitFamily& family : SplitFamilies()) {
    if (family.plain_text) continue;
    all.push_back({BytePairVocabulary(family.names.substr(0, family.names.find(' '))), nullptr});
  }
  all.push_back({SentencePairVocabulary(), nullptr});
  for (Made& made : all) {
    auto tokenizer = CreateTokenizer(made.vocabulary.data());
    CHECK(tokenizer.ok());
    made.tokenizer = *std::move(tokenizer);
  }
  return all;
}

void FuzzText(std::string_view text, uint8_t choice) {
  static const std::vector<Made> all = MakeAll();
  const Tokenizer& tokenizer = *all[choice % all.size()].tokenizer;
  const bool special = (choice & 0x80) != 0;
  const auto ids = tokenizer.Encode(text, {.add_special = special, .parse_special = special});
  CHECK(ids.ok());
  for (const int32_t id : *ids) CHECK(id >= 0 && id < tokenizer.vocabulary_size());
  const bool keeps = choice % all.size() + 1 < all.size() || text.find("\xE2\x96\x81") == std::string_view::npos;
  if (keeps && !special) CHECK(tokenizer.Decode(*ids, true) == text);
  const std::vector<Segment> segments = {{std::string(text.substr(0, text.size() / 3)), true},
                                         {std::string(text.substr(text.size() / 3)), false}};
  CHECK(tokenizer.EncodeSegments(segments).ok());
}

// Lines are tokens, or merges where they hold a space; the byte before a token is its kind.
void FuzzVocabulary(std::string_view text, uint8_t choice) {
  constexpr std::string_view kModels[] = {"gpt2", "gemma4", "llama", "t5", "bert"};
  TestVocabulary made(kModels[choice % std::size(kModels)], "gpt-2");
  if ((choice & 0x40) != 0) made.AddByteTokens();
  if ((choice & 0x20) != 0) made.AddByteLetters();
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    if (line.find(' ') != std::string_view::npos) {
      made.AddMerge(std::string(line));
    } else if (!line.empty()) {
      made.Add(std::string(line.substr(1)), static_cast<TokenKind>(line[0] & 7), static_cast<float>(line[0]));
    }
    begin = end + 1;
  }
  for (const std::string_view role : {"bos", "eos", "unknown", "seperator"}) made.AddSpecialId(role, choice & 7);
  VocabularyData data = made.data();
  data.charsmap = {reinterpret_cast<const uint8_t*>(text.data()), (choice & 0x10) != 0 ? text.size() : 0};
  const auto tokenizer = CreateTokenizer(data);
  if (!tokenizer.ok()) return;
  const auto ids = (*tokenizer)->Encode(text, {.add_special = true, .parse_special = true});
  if (!ids.ok()) return;
  for (const int32_t id : *ids) CHECK(id >= 0 && id < (*tokenizer)->vocabulary_size());
  (*tokenizer)->Decode(*ids, true);
}

}  // namespace
}  // namespace inferd::tokenizer

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  if (data[0] % 2 == 0) {
    inferd::tokenizer::FuzzText(text, data[1]);
  } else {
    inferd::tokenizer::FuzzVocabulary(text, data[1]);
  }
  return 0;
}
