#include "engine/template/fallbacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/template/test_support.h"

namespace inferd::chat_template {
namespace {

constexpr char kModel[] = R"({"bos_token": "<s>", "eos_token": "</s>"})";
constexpr char kRequest[] = R"({"add_generation_prompt": true, "messages": [
  {"role": "system", "content": "Be terse."}, {"role": "user", "content": "Hi"},
  {"role": "assistant", "content": "Yes?"},
  {"role": "user", "content": [{"type": "text", "text": "2+2"}, {"type": "image"}, {"type": "text", "text": "?"}]}]})";

TEST(Fallbacks, ChatMlMarksEveryTurn) {
  const auto prompt = RenderSource(*FindFallback("chatml"), kRequest, kModel);
  ASSERT_TRUE(prompt.ok()) << prompt.status();
  EXPECT_EQ(prompt->Text(),
            "<|im_start|>system\nBe terse.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
            "<|im_start|>assistant\nYes?<|im_end|>\n<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n");
}

// The format of Meta's reference implementation of Llama 2.
TEST(Fallbacks, Llama2PutsTheSystemMessageIntoTheFirstTurn) {
  const auto prompt = RenderSource(*FindFallback("llama2"), kRequest, kModel);
  ASSERT_TRUE(prompt.ok()) << prompt.status();
  EXPECT_EQ(prompt->Text(), "<s>[INST] <<SYS>>\nBe terse.\n<</SYS>>\n\nHi [/INST] Yes? </s><s>[INST] 2+2? [/INST]");
}

TEST(Fallbacks, Llama2RefusesOtherOrders) {
  const auto prompt =
      RenderSource(*FindFallback("llama2"), R"({"messages": [{"role": "assistant", "content": "x"}]})", kModel);
  EXPECT_THAT(std::string(prompt.status().message()), testing::HasSubstr("must take turns"));
}

TEST(Fallbacks, UnknownNamesAreNotGuessed) {
  EXPECT_FALSE(FindFallback("llama3").has_value());
  EXPECT_EQ(FallbackNames(), "chatml, llama2");
}

}  // namespace
}  // namespace inferd::chat_template
