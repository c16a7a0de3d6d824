#include "engine/model/fingerprint.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/model/testing_model.h"

namespace inferd::model {
namespace {

uint64_t Of(const std::string& bytes, uint64_t most_bytes = kWholeBytes) {
  const auto file =
      gguf::GgufFile::Parse({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "test").value();
  return Fingerprint(*file, most_bytes);
}

// Of the tensor, in the file's bytes.
size_t OffsetOf(const std::string& bytes, std::string_view tensor) {
  const auto file =
      gguf::GgufFile::Parse({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "test").value();
  return static_cast<size_t>(file->FindTensor(tensor)->data - reinterpret_cast<const uint8_t*>(bytes.data()));
}

TEST(Fingerprint, IsOneOfEqualFiles) {
  const std::string bytes = TestingModel::Llama().Bytes(), same = bytes;
  EXPECT_EQ(Of(bytes), Of(same));
}

TEST(Fingerprint, SeesThatTheArithmeticChanged) {
  const std::string bytes = TestingModel::Llama().Bytes();
  const auto file =
      gguf::GgufFile::Parse({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "test").value();
  EXPECT_EQ(Fingerprint(*file), Fingerprint(*file, kWholeBytes, kernels::kNumericsVersion));
  EXPECT_NE(Fingerprint(*file), Fingerprint(*file, kWholeBytes, kernels::kNumericsVersion - 1));
}

TEST(Fingerprint, SeesEveryBitOfTheWeights) {
  const std::string bytes = TestingModel::Llama().Bytes();
  const uint64_t whole = Of(bytes);
  const size_t begin = OffsetOf(bytes, "blk.1.ffn_down.weight");
  for (size_t offset = begin; offset < begin + 20'000; offset += 997) {
    std::string changed = bytes;
    changed[offset] = static_cast<char>(changed[offset] ^ 0x10);
    EXPECT_NE(Of(changed), whole) << offset;
  }
  std::string last = bytes;
  last.back() = static_cast<char>(last.back() ^ 1);
  EXPECT_NE(Of(last), whole);
}

TEST(Fingerprint, SeesWordsThatChangedPlaces) {
  std::string bytes = TestingModel::Llama().Bytes();
  const uint64_t whole = Of(bytes);
  const size_t begin = OffsetOf(bytes, "blk.0.ffn_down.weight");
  ASSERT_NE(bytes.substr(begin, 64), bytes.substr(begin + 64, 64));
  for (size_t i = 0; i < 64; ++i) std::swap(bytes[begin + i], bytes[begin + 64 + i]);
  EXPECT_NE(Of(bytes), whole);
}

TEST(Fingerprint, OfALargeFileSeesSmallTensorsWholeAndOthersAtBothEnds) {
  const std::string bytes = TestingModel::Llama().Bytes();
  constexpr uint64_t kFewBytes = 16 << 10;
  const uint64_t sampled = Of(bytes, kFewBytes);
  EXPECT_EQ(Of(bytes, kFewBytes), sampled);
  const auto file =
      gguf::GgufFile::Parse({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "test").value();
  for (const gguf::Tensor& tensor : file->tensors()) {
    const auto begin = static_cast<size_t>(tensor.data - reinterpret_cast<const uint8_t*>(bytes.data()));
    for (const size_t offset : {begin, begin + static_cast<size_t>(tensor.bytes) - 1}) {
      std::string changed = bytes;
      changed[offset] = static_cast<char>(changed[offset] ^ 1);
      EXPECT_NE(Of(changed, kFewBytes), sampled) << tensor.name << " at " << offset - begin;
    }
  }
}

TEST(Fingerprint, OfALargeFileSeesThatAllWeightsChangedALittle) {
  const std::string bytes = TestingModel::Llama().Bytes();
  std::string changed = bytes;
  for (size_t offset = OffsetOf(bytes, "blk.0.ffn_up.weight"), i = 0; i < 32'768; i += 64) {
    changed[offset + i] = static_cast<char>(changed[offset + i] ^ 1);
  }
  EXPECT_NE(Of(changed, 16 << 10), Of(bytes, 16 << 10));
}

}  // namespace
}  // namespace inferd::model
