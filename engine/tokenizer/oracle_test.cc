// Token ids of whole vocabularies against independent implementations: ../shared/oracles/tokenizers and real.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <fstream>
#include <iterator>
#include <sstream>

#include "config/base/testing_paths.h"
#include "engine/gguf/gguf_file.h"
#include "engine/tokenizer/tokenizer.h"

namespace inferd::tokenizer {
namespace {

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
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
  const std::filesystem::path folder = OraclesPath() / "tokenizers";
  const std::filesystem::path model = folder / (GetParam() + ".gguf");
  if (!std::filesystem::exists(model)) GTEST_SKIP() << model << " is not on this machine";
  const auto file = gguf::GgufFile::Open(model);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto tokenizer = Tokenizer::Create(**file);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  const std::vector<std::string> texts = SplitBy(ReadFile(folder / (GetParam() + ".inp")), "\n__ggml_vocab_test__\n");
  const std::vector<std::string> lines = SplitBy(ReadFile(folder / (GetParam() + ".out")), "\n");
  ASSERT_GE(lines.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto ids = (*tokenizer)->Encode(texts[i], {});
    ASSERT_TRUE(ids.ok()) << ids.status();
    EXPECT_THAT(*ids, testing::ElementsAreArray(Numbers(lines[i]))) << "text " << i << ": \"" << texts[i] << '"';
    EXPECT_GE(static_cast<int64_t>(ids->size()), (*tokenizer)->FewestTokens(texts[i].size())) << texts[i];
    if (GetParam() == "bert-bge") continue;  // cleans its text
    EXPECT_EQ((*tokenizer)->Decode(*ids, true), texts[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, TokenizerOracle,
                         testing::Values("bert-bge", "deepseek-llm", "falcon", "gpt-2", "llama-bpe", "llama-spm",
                                         "phi-3", "qwen2"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(RealModelOracle, GivesTheIdsOfTheReference) {
  const std::filesystem::path oracle = OraclesPath() / "real/smollm2-135m-instruct-q4_1.json";
  if (!std::filesystem::exists(oracle)) GTEST_SKIP() << oracle << " is not on this machine";
  if (!std::filesystem::exists(TestModelPath())) GTEST_SKIP() << TestModelPath() << " is not on this machine";
  const auto file = gguf::GgufFile::Open(TestModelPath());
  ASSERT_TRUE(file.ok()) << file.status();
  const auto tokenizer = Tokenizer::Create(**file);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  const boost::json::value cases = boost::json::parse(ReadFile(oracle));
  for (const boost::json::value& entry : cases.as_array()) {
    const auto ids =
        (*tokenizer)
            ->Encode(std::string_view(entry.at("text").as_string()), {.add_special = true, .parse_special = true});
    ASSERT_TRUE(ids.ok()) << ids.status();
    EXPECT_EQ(*ids, boost::json::value_to<std::vector<int32_t>>(entry.at("tokens"))) << entry.at("text");
  }
}

}  // namespace
}  // namespace inferd::tokenizer
