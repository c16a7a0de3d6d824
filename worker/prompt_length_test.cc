#include "worker/prompt_length.h"

#include <gtest/gtest.h>

#include "config/base/status.h"
#include "worker/fake_tokenizer.h"

namespace inferd::worker {
namespace {

// Tokens of four bytes at most.
class LongTokens : public FakeTokenizer {
 public:
  int64_t FewestTokens(size_t text_bytes) const override { return static_cast<int64_t>(text_bytes / 4); }
};

constexpr engine::RequestLimits kLimits{.vocabulary_size = 260, .context_tokens = 50, .pool_tokens = 1000};

TEST(CheckTextLength, RefusesWhatCannotFit) {
  const LongTokens tokenizer;
  EXPECT_TRUE(CheckTextLength("text", 203, tokenizer, kLimits).ok()) << "its tokens must be counted";
  const absl::Status status = CheckTextLength("text", 204, tokenizer, kLimits);
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(MessageOf(status),
            "text: this model's maximum context length is 50 tokens, but the prompt has at least 51 tokens, since it "
            "has 204 bytes");
}

TEST(CheckTextLength, SaysNothingOfFamiliesThatDropText) {
  EXPECT_TRUE(CheckTextLength("text", size_t{1} << 40, FakeTokenizer(), kLimits).ok());
}

}  // namespace
}  // namespace inferd::worker
