#include "engine/tools/make_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "config/base/status.h"
#include "engine/gguf/gguf_file.h"
#include "engine/tools/random_blocks.h"
#include "kernels/kernels.h"

namespace inferd::tools {
namespace {

using kernels::TensorType;
using ::testing::HasSubstr;

class BufferSink : public gguf::TensorSink {
 public:
  absl::Status Write(std::span<const uint8_t> bytes) override {
    buffer.insert(buffer.end(), bytes.begin(), bytes.end());
    return absl::OkStatus();
  }
  std::vector<uint8_t> buffer;
};

TEST(RandomBlocks, HaveTheWantedSizeInEveryType) {
  for (uint32_t id = 0; id < 64; ++id) {
    const kernels::TypeTraits* traits = kernels::FindTensorType(id);
    if (traits == nullptr) continue;
    constexpr int64_t kElements = 256 * 1024;
    BufferSink sink;
    ASSERT_TRUE(
        RandomBlocks(traits->type, 0.02f, 7).Fill(kElements / traits->block_elements * traits->block_bytes, sink).ok());
    std::vector<float> values(kElements);
    kernels::SelectKernels("reference")->dequantize_row(traits->type, sink.buffer.data(), kElements, values.data());
    double sum = 0, squares = 0;
    for (const float value : values) {
      ASSERT_TRUE(std::isfinite(value)) << traits->name;
      sum += value;
      squares += double{value} * value;
    }
    // Powers of two as scales are off by up to sqrt(2); the mean of unsigned codes is not quite zero.
    EXPECT_NEAR(std::sqrt(squares / kElements), 0.02, 0.01) << traits->name;
    EXPECT_NEAR(sum / kElements, 0, 0.01) << traits->name;
  }
}

class MakeModelTest : public ::testing::Test {
 protected:
  void SetUp() override { path_ = ::testing::TempDir() + "/make_model_test." + std::to_string(getpid()) + ".gguf"; }
  void TearDown() override { std::filesystem::remove(path_); }
  std::string Contents() const {
    std::ifstream file(path_, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  std::string path_;
};

TEST_F(MakeModelTest, WritesAFileOfTheShapeAndTypes) {
  const auto shape =
      ParseShape("width=128,layers=3,heads=4,kv_heads=2,head_dim=32,feed_forward=256,vocabulary=600,tied_head=0");
  ASSERT_TRUE(shape.ok()) << shape.status();
  ASSERT_TRUE(MakeModel(*shape, TensorType::kQ4_0, TensorType::kQ8_0, path_).ok());
  const auto file = gguf::GgufFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(*(*file)->GetUint("llama.block_count"), 3u);
  EXPECT_EQ((*file)->GetStrings("tokenizer.ggml.tokens")->size(), 600u);
  EXPECT_EQ((*file)->GetStrings("tokenizer.ggml.merges")->size(), 600u - 256 - 3);
  const gguf::Tensor* down = (*file)->FindTensor("blk.2.ffn_down.weight");
  ASSERT_NE(down, nullptr);
  EXPECT_EQ(down->type, TensorType::kQ4_0);
  EXPECT_EQ(down->dims[0], 256u);
  EXPECT_EQ((*file)->FindTensor("output.weight")->type, TensorType::kQ8_0);
}

TEST_F(MakeModelTest, SameArgumentsGiveSameBytes) {
  const ModelShape shape = *ParseShape("llama-tiny");
  ASSERT_TRUE(MakeModel(shape, TensorType::kQ4_K, TensorType::kQ6_K, path_).ok());
  const std::string first = Contents();
  ASSERT_TRUE(MakeModel(shape, TensorType::kQ4_K, TensorType::kQ6_K, path_).ok());
  EXPECT_EQ(Contents(), first);
}

TEST_F(MakeModelTest, RefusesShapesByKey) {
  const std::pair<const char*, const char*> kBad[] = {
      {"depth=3", "unknown key 'depth'"}, {"layers", "layers is ''"},      {"layers=0", "layers is '0'"},
      {"layers=x", "layers is 'x'"},      {"layers=3x", "layers is '3x'"}, {"vocabulary=99999999", "vocabulary is"},
      {"tied_head=2", "tied_head is 2"},
  };
  for (const auto& [text, message] : kBad) {
    const auto shape = ParseShape(text);
    ASSERT_FALSE(shape.ok()) << text;
    EXPECT_THAT(std::string(MessageOf(shape.status())), HasSubstr(message));
  }
  const absl::Status status = MakeModel(*ParseShape("width=288"), TensorType::kQ4_K, TensorType::kQ4_K, path_);
  EXPECT_THAT(std::string(MessageOf(status)), HasSubstr("width is 288, expected a multiple of 256"));
  EXPECT_THAT(std::string(MessageOf(MakeModel(*ParseShape("heads=3"), TensorType::kF32, TensorType::kF32, path_))),
              HasSubstr("heads is 3, expected a multiple of kv_heads (8)"));
}

}  // namespace
}  // namespace inferd::tools
