#include "engine/tokenizer/subword_model.h"

#include "config/base/status.h"
#include "engine/tokenizer/split_rules.h"

namespace inferd::tokenizer {
namespace {

std::string KnownFamilies() {
  std::string names;
  for (const SplitFamily& family : SplitFamilies()) names.append(names.empty() ? "" : " ").append(family.names);
  return names;
}

MaybeModel CreatePairModel(const VocabularyData& data, const Vocabulary& vocabulary) {
  const SplitFamily* family = FindSplitFamily(data.pre);
  if (family == nullptr) {
    return Unimplemented("tokenizer.ggml.pre: {}, expected one of: {}",
                         data.pre.empty() ? "missing" : fmt::format("unknown value \"{}\"", data.pre), KnownFamilies());
  }
  if (data.merges.empty()) return InvalidArgument("tokenizer.ggml.merges: missing or empty, expected merges");
  return family->plain_text ? CreatePlainPairModel(data, vocabulary) : CreateBytePairModel(data, vocabulary);
}

MaybeModel CreateGemma4Model(const VocabularyData& data, const Vocabulary& vocabulary) {
  VocabularyData named = data;
  named.pre = "gemma4";
  return CreatePairModel(named, vocabulary);
}

struct Family {
  std::string_view name;  // tokenizer.ggml.model
  MaybeModel (*create)(const VocabularyData&, const Vocabulary&);
};
constexpr Family kFamilies[] = {
    {"gpt2", CreatePairModel},  {"gemma4", CreateGemma4Model},         {"llama", CreateSentencePairModel},
    {"t5", CreateUnigramModel}, {"whitespace", CreateWhitespaceModel}, {"bert", CreateWordPieceModel}};

}  // namespace

MaybeModel CreateSubwordModel(const VocabularyData& data, const Vocabulary& vocabulary) {
  std::string known;
  for (const Family& family : kFamilies) {
    if (family.name == data.model) return family.create(data, vocabulary);
    known.append(known.empty() ? "" : ", ").append(family.name);
  }
  return Unimplemented("tokenizer.ggml.model: unknown value \"{}\", expected one of: {}", data.model, known);
}

}  // namespace inferd::tokenizer
