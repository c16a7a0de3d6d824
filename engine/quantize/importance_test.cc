#include "engine/quantize/importance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <limits>

#include "config/base/status.h"
#include "config/base/testing_paths.h"
#include "engine/gguf/gguf_writer.h"

namespace inferd::quantize {
namespace {

using gguf::GgufFile;
using gguf::GgufWriter;
using kernels::TensorType;
using ::testing::HasSubstr;

std::string Floats(std::initializer_list<float> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(float)};
}

template <typename T>
std::string Raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

class ImportanceFile : public ::testing::Test {
 protected:
  ImportanceFile() {
    GgufWriter writer;
    writer.Add("general.architecture", "llama");
    writer.AddTensor("plain.weight", TensorType::kF32, {2, 3});
    writer.AddTensor("experts.weight", TensorType::kF32, {2, 1, 2});
    bytes_ = writer.ToBytes(std::vector<std::string>{std::string(24, '\0'), std::string(16, '\0')});
    model_ = *GgufFile::Parse({reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size()}, "the model");
  }
  absl::StatusOr<Importance> Read(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return Importance::Read(path_);
  }
  std::string MessageOfReading(const std::string& bytes) { return std::string(MessageOf(Read(bytes).status())); }
  std::string MessageForModel(const std::string& bytes) {
    const auto importance = Read(bytes);
    CHECK(importance.ok());
    return std::string(MessageOf(importance->CheckModel(*model_)));
  }

  std::string bytes_;
  std::shared_ptr<const GgufFile> model_;
  const std::string path_ = ::testing::TempDir() + "importance";
};

std::string Gguf(const char* name, std::vector<uint64_t> dims, const std::string& sums, uint64_t count_rows,
                 const std::string& counts) {
  GgufWriter writer;
  writer.AddTensor(std::string(name) + ".in_sum2", TensorType::kF32, std::span<const uint64_t>(dims));
  writer.AddTensor(std::string(name) + ".counts", TensorType::kF32, {1, count_rows});
  return writer.ToBytes(std::vector<std::string>{sums, counts});
}

std::string Binary(const std::string& name, int32_t calls, const std::string& values) {
  return Raw<int32_t>(1) + Raw(static_cast<int32_t>(name.size())) + name + Raw(calls) +
         Raw(static_cast<int32_t>(values.size() / 4)) + values;
}

TEST_F(ImportanceFile, GivesTheMeanOfEachColumn) {
  for (const std::string& bytes :
       {Gguf("plain.weight", {2, 1}, Floats({8, 20}), 1, Floats({4})), Binary("plain.weight", 4, Floats({8, 20}))}) {
    const auto importance = Read(bytes);
    ASSERT_TRUE(importance.ok()) << importance.status();
    ASSERT_TRUE(importance->CheckModel(*model_).ok());
    const float* columns = importance->Find(*model_->FindTensor("plain.weight"), 0);
    ASSERT_NE(columns, nullptr);
    EXPECT_EQ(columns[0], 2);
    EXPECT_EQ(columns[1], 5);
    EXPECT_EQ(importance->Find(*model_->FindTensor("experts.weight"), 0), nullptr);
  }
}

TEST_F(ImportanceFile, KnowsExpertsThatWereUsed) {
  const auto importance = Read(Gguf("experts.weight", {2, 2}, Floats({0, 0, 6, 9}), 2, Floats({0, 3})));
  ASSERT_TRUE(importance.ok() && importance->CheckModel(*model_).ok());
  const gguf::Tensor& tensor = *model_->FindTensor("experts.weight");
  EXPECT_EQ(importance->Find(tensor, 0), nullptr);
  EXPECT_EQ(importance->Find(tensor, 1)[1], 3);
}

TEST_F(ImportanceFile, OfTheOlderFormatHasAllExpertsInOneRow) {
  const auto importance = Read(Binary("experts.weight", 1, Floats({1, 2, 3, 4})));
  ASSERT_TRUE(importance.ok() && importance->CheckModel(*model_).ok());
  EXPECT_EQ(importance->Find(*model_->FindTensor("experts.weight"), 1)[0], 3);
}

TEST_F(ImportanceFile, OfAnotherModelIsRefused) {
  EXPECT_THAT(MessageForModel(Binary("other.weight", 1, Floats({1}))),
              HasSubstr("other.weight: the model has no such"));
  EXPECT_THAT(MessageForModel(Binary("plain.weight", 1, Floats({1, 2, 3}))), HasSubstr("3 values for 2 columns"));
  EXPECT_THAT(MessageForModel(Gguf("experts.weight", {1, 4}, Floats({1, 2, 3, 4}), 4, Floats({1, 1, 1, 1}))),
              HasSubstr("expected an imatrix of the same model"));
}

TEST_F(ImportanceFile, DamagedIsRefusedByItsEntry) {
  EXPECT_THAT(MessageOfReading("hello, world"), HasSubstr("is no imatrix file"));
  EXPECT_THAT(MessageOfReading(Raw<int32_t>(0)), HasSubstr("has no entries"));
  EXPECT_THAT(MessageOfReading(Raw<int32_t>(1) + Raw<int32_t>(-4)), HasSubstr("is no imatrix file"));
  const std::string whole = Binary("plain.weight", 4, Floats({8, 20}));
  for (size_t size = 4; size < whole.size(); ++size) {
    EXPECT_FALSE(Read(whole.substr(0, size)).ok()) << size;
  }
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(MessageOfReading(Binary("a", 1, Floats({1, kNan}))), HasSubstr("a: value 1 is nan"));
  EXPECT_THAT(MessageOfReading(Binary("a", 1, Floats({-1}))), HasSubstr("a: value 0 is -1"));
  EXPECT_THAT(MessageOfReading(Gguf("a", {2, 1}, Floats({1, 2}), 1, Floats({kNan}))), HasSubstr("count 0 is nan"));
  EXPECT_THAT(MessageOfReading(Gguf("a", {2, 2}, Floats({1, 2, 3, 4}), 1, Floats({1}))),
              HasSubstr("expected a count for each row of sums"));
  GgufWriter writer;
  writer.AddTensor("a.in_sum2", TensorType::kF32, {1});
  EXPECT_THAT(MessageOfReading(writer.ToBytes(std::vector<std::string>{Floats({1})})),
              HasSubstr("has sums but no a.counts"));
}

}  // namespace
}  // namespace inferd::quantize
