#include "engine/quantize/write_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>

#include "config/base/status.h"
#include "engine/gguf/gguf_writer.h"
#include "engine/quantize/quantize_row.h"

namespace inferd::quantize {
namespace {

using gguf::GgufFile;
using gguf::GgufWriter;
using kernels::TensorType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using enum kernels::TensorType;

constexpr uint64_t kColumns = 512, kRows = 300;

class Writing : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "write_model_" + std::to_string(getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 0.02f);
    values_.resize(2 * kColumns * kRows);
    for (float& value : values_) value = normal(random);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::shared_ptr<const GgufFile> Model() {
    GgufWriter writer(64);
    writer.Add("general.architecture", "llama");
    writer.Add("general.file_type", uint32_t{0});
    writer.Add("general.name", "small");
    writer.AddTensor("token_embd.weight", kF32, {kColumns, kRows});
    writer.AddTensor("blk.0.attn_norm.weight", kF32, {kColumns});
    writer.AddTensor("blk.0.ffn_up_exps.weight", kF32, {kColumns, kRows / 2, 2});
    const char* bytes = reinterpret_cast<const char*>(values_.data());
    bytes_ = writer.ToBytes(std::vector<std::string>{
        {bytes, 4 * kColumns * kRows}, {bytes, 4 * kColumns}, {bytes + 4 * kColumns * kRows, 4 * kColumns * kRows}});
    return *GgufFile::Parse({reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size()}, "a model");
  }
  absl::StatusOr<std::vector<std::string>> Write(const char* file_type, const std::string& name, int32_t threads = 1,
                                                 uint64_t max_part_bytes = 0) {
    const auto file = Model();
    const FileType* type = FindFileType(file_type);
    const auto plan = MakePlan(*file, {.file_type = type});
    if (!plan.ok()) return plan.status();
    return WriteModel(
        *file, *plan,
        {.path = folder_ + "/" + name, .max_part_bytes = max_part_bytes, .file_type = type, .threads = threads});
  }
  std::string BytesOf(const std::string& name) {
    std::ifstream in(folder_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::vector<std::string> Files() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string folder_, bytes_;
  std::vector<float> values_;
};

TEST_F(Writing, CarriesMetadataAndRowsOver) {
  ASSERT_TRUE(Write("Q4_K_M", "out.gguf").ok());
  const auto out = GgufFile::Open(folder_ + "/out.gguf");
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(*(*out)->GetString("general.name"), "small");
  EXPECT_EQ(*(*out)->GetUint("general.file_type"), 15u);
  EXPECT_EQ(*(*out)->GetUint("general.quantization_version"), 2u);
  EXPECT_EQ((*out)->alignment(), 64u);
  const gguf::Tensor* experts = (*out)->FindTensor("blk.0.ffn_up_exps.weight");
  ASSERT_NE(experts, nullptr);
  EXPECT_EQ(experts->type, kQ4_K);
  EXPECT_THAT(experts->dims, ElementsAre(kColumns, kRows / 2, 2, 1));
  for (uint64_t row = 0; row < kRows; ++row) {
    std::vector<uint8_t> expected(RowBytes(kQ4_K, kColumns));
    QuantizeRow(kQ4_K, values_.data() + (kRows + row) * kColumns, nullptr, kColumns, expected.data());
    ASSERT_EQ(std::memcmp(experts->data + row * expected.size(), expected.data(), expected.size()), 0) << row;
  }
  const gguf::Tensor* norm = (*out)->FindTensor("blk.0.attn_norm.weight");
  EXPECT_EQ(std::memcmp(norm->data, values_.data(), 4 * kColumns), 0);
}

TEST_F(Writing, GivesTheSameBytesWithAnyNumberOfThreads) {
  for (const char* type : {"Q4_K_M", "Q8_0", "IQ4_XS"}) {
    std::string first;
    for (const int32_t threads : {1, 2, 3, 7, 64}) {
      const std::string name = std::string(type) + std::to_string(threads);
      ASSERT_TRUE(Write(type, name, threads).ok());
      if (threads == 1) first = BytesOf(name);
      ASSERT_FALSE(first.empty());
      EXPECT_EQ(BytesOf(name), first) << type << ' ' << threads;
    }
  }
}

TEST_F(Writing, DividesIntoPartsThatReadAsTheWhole) {
  const auto paths = Write("Q8_0", "part", 2, 100000);
  ASSERT_TRUE(paths.ok()) << paths.status();
  EXPECT_THAT(Files(), ElementsAre("part-00001-of-00003.gguf", "part-00002-of-00003.gguf", "part-00003-of-00003.gguf"));
  ASSERT_TRUE(Write("Q8_0", "whole.gguf").ok());
  const auto parts = GgufFile::Open(paths->front()), whole = GgufFile::Open(folder_ + "/whole.gguf");
  ASSERT_TRUE(parts.ok() && whole.ok());
  ASSERT_EQ((*parts)->tensors().size(), (*whole)->tensors().size());
  for (const gguf::Tensor& tensor : (*whole)->tensors()) {
    const gguf::Tensor* same = (*parts)->FindTensor(tensor.name);
    ASSERT_TRUE(same != nullptr && same->bytes == tensor.bytes);
    EXPECT_EQ(std::memcmp(same->data, tensor.data, tensor.bytes), 0) << tensor.name;
  }
}

TEST_F(Writing, NamesTheFirstValueThatIsNoNumberAndLeavesNothing) {
  values_[kRows * kColumns + 123 * kColumns + 45] = std::numeric_limits<float>::quiet_NaN();
  values_[kRows * kColumns + 270 * kColumns + 1] = std::numeric_limits<float>::infinity();
  for (const int32_t threads : {1, 5}) {
    const auto status = Write("Q4_K_M", "out.gguf", threads).status();
    EXPECT_THAT(std::string(MessageOf(status)),
                HasSubstr("blk.0.ffn_up_exps.weight: row 123: value 45 of the row is nan, expected a finite number"));
    EXPECT_THAT(Files(), IsEmpty());
    EXPECT_FALSE(Write("Q4_K_M", "out", threads, 100000).ok());
    EXPECT_THAT(Files(), IsEmpty());
  }
}

TEST_F(Writing, LeavesAFileThatIsThere) {
  std::ofstream(folder_ + "/out.gguf") << "mine";
  const auto status = Write("Q8_0", "out.gguf").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(MessageOf(status)), HasSubstr("out.gguf: exists already"));
  EXPECT_EQ(BytesOf("out.gguf"), "mine");
  EXPECT_THAT(Files(), ElementsAre("out.gguf"));
}

}  // namespace
}  // namespace inferd::quantize
