// Token ids of whole vocabularies against independent implementations: ../shared/oracles/tokenizers and real.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "config/base/status.h"
#include "engine/gguf/gguf_file.h"
#include "engine/tokenizer/tokenizer.h"

namespace inferd::tokenizer {
namespace {

const std::filesystem::path kOracles = std::filesystem::path(INFERD_SOURCE_DIR) / "../shared/oracles/tokenizers";

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<std::string> SplitBy(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + separator.size();
  }
}

std::vector<int32_t> Numbers(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<int32_t>(stream), std::istream_iterator<int32_t>()};
}

class TokenizerOracle : public testing::TestWithParam<std::string> {};

TEST_P(TokenizerOracle, GivesTheIdsOfTheReference) {
  const std::filesystem::path model = kOracles / (GetParam() + ".gguf");
  if (!std::filesystem::exists(model)) GTEST_SKIP() << model << " is not on this machine";
  const auto file = gguf::GgufFile::Open(model);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto tokenizer = Tokenizer::Create(**file);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  const std::vector<std::string> texts =
      SplitBy(ReadFile(kOracles / (GetParam() + ".inp")), "\n__ggml_vocab_test__\n");
  const std::vector<std::string> lines = SplitBy(ReadFile(kOracles / (GetParam() + ".out")), "\n");
  ASSERT_GE(lines.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto ids = (*tokenizer)->Encode(texts[i], {});
    ASSERT_TRUE(ids.ok()) << ids.status();
    EXPECT_THAT(*ids, testing::ElementsAreArray(Numbers(lines[i]))) << "text " << i << ": \"" << texts[i] << '"';
  }
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, TokenizerOracle,
                         testing::Values("bert-bge", "deepseek-llm", "falcon", "gpt-2", "llama-bpe", "llama-spm", "phi-3",
                                         "qwen2"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace inferd::tokenizer
