#include "engine/quantize/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "config/base/status.h"
#include "engine/gguf/gguf_writer.h"

namespace inferd::quantize {
namespace {

using gguf::GgufFile;
using gguf::GgufWriter;
using kernels::TensorType;
using ::testing::HasSubstr;
using enum kernels::TensorType;

class Planning : public ::testing::Test {
 protected:
  void SetUp() override { MakeModel(kF32); }
  void MakeModel(TensorType type) {
    GgufWriter writer;
    writer.Add("general.architecture", "llama");
    writer.AddTensor("token_embd.weight", type, {256, 4});
    writer.AddTensor("blk.0.attn_q.weight", type, {256, 4});
    writer.AddTensor("blk.0.attn_norm.weight", kF32, {256});
    writer.AddTensor("blk.0.ffn_up.weight", type, {96, 4});
    std::vector<std::string> data;
    for (size_t i = 0; i < writer.tensor_count(); ++i) data.emplace_back(writer.tensor_bytes(i), '\0');
    bytes_ = writer.ToBytes(data);
    file_ = *GgufFile::Parse({reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size()}, "a model");
  }
  absl::StatusOr<Plan> Make(const char* file_type, std::initializer_list<const char*> choices = {},
                            bool allow_requantize = false) {
    PlanOptions options = {.file_type = FindFileType(file_type), .allow_requantize = allow_requantize};
    for (const char* text : choices) options.choices.push_back(*ParseTensorChoice(text));
    return MakePlan(*file_, options);
  }
  std::string Error(const char* file_type, std::initializer_list<const char*> choices = {}) {
    return std::string(MessageOf(Make(file_type, choices).status()));
  }

  std::string bytes_;
  std::shared_ptr<const GgufFile> file_;
};

TEST_F(Planning, GivesEveryTensorItsTypeAndSize) {
  const auto plan = Make("Q4_K_M");
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->tensors.size(), 4u);
  EXPECT_EQ(plan->tensors[0].type, kQ6_K);
  EXPECT_EQ(plan->tensors[1].type, kQ4_K);
  EXPECT_EQ(plan->tensors[1].bytes, 4u * 144);
  EXPECT_EQ(plan->tensors[2].type, kF32);
  EXPECT_EQ(plan->tensors[3].type, kQ5_0);
  EXPECT_TRUE(plan->tensors[3].smaller_blocks);
  EXPECT_EQ(plan->bytes, 4u * (210 + 144 + 256 + 3 * 22));
  EXPECT_EQ(plan->elements, 4u * (256 + 256 + 64 + 96));
}

TEST_F(Planning, TakesTheFirstChoiceThatFits) {
  const auto plan = Make("Q4_K_M", {"attn_(q|k)=F16", "attn=Q8_0", "^blk\\.\\d+\\.ffn=Q5_1"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->tensors[1].type, kF16);
  EXPECT_EQ(plan->tensors[2].type, kF32);
  EXPECT_EQ(plan->tensors[3].type, kQ5_1);
}

TEST_F(Planning, RefusesChoicesThatCannotBe) {
  EXPECT_THAT(Error("Q8_0", {"ffn_down=Q6_K"}), HasSubstr("--tensor ffn_down: matches no tensor of a model"));
  EXPECT_THAT(Error("Q8_0", {"norm=Q6_K"}), HasSubstr("--tensor norm: matches only tensors of a model that stay"));
  EXPECT_THAT(Error("Q8_0", {"ffn_(up=Q6_K"}), HasSubstr("--tensor ffn_(up: "));
  EXPECT_THAT(Error("Q8_0", {"ffn_up=Q4_K"}),
              HasSubstr("blk.0.ffn_up.weight: has rows of 96 values, expected a multiple of 256 for Q4_K"));
  EXPECT_THAT(std::string(MessageOf(ParseTensorChoice("ffn_up").status())), HasSubstr("expected REGEX=TYPE"));
  EXPECT_THAT(std::string(MessageOf(ParseTensorChoice("=Q4_K").status())), HasSubstr("expected REGEX=TYPE"));
  EXPECT_THAT(std::string(MessageOf(ParseTensorChoice("a=Q4_K_M").status())), HasSubstr("'Q4_K_M' is no tensor type"));
  EXPECT_EQ(ParseTensorChoice("a=b=Q4_K")->expression, "a=b");
}

TEST_F(Planning, QuantizesAgainOnlyWhereAllowed) {
  MakeModel(kQ8_0);
  const auto refused = Make("Q4_0");
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(MessageOf(refused.status())), HasSubstr("is Q8_0 already"));
  EXPECT_TRUE(Make("Q4_0", {}, /*allow_requantize=*/true).ok());
  EXPECT_TRUE(Make("Q8_0").ok());  // nothing changes
}

}  // namespace
}  // namespace inferd::quantize
