// Prefill of float weights by OpenBLAS: nearly the same values, from another order of additions.
#include "engine/device/cpu/blas.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/device/factory/device_factory.h"
#include "engine/forward/forward.h"
#include "engine/model/testing_model.h"

namespace inferd::forward {
namespace {

using device::Blas;
using device::Device;
using device::DeviceOptions;
using model::TestingModel;

std::vector<float> LogitsOf(const std::shared_ptr<const model::Model>& model, bool blas, int64_t tokens) {
  DeviceOptions options{.max_batch_tokens = 128, .max_result_rows = 1};
  options.cache.bytes = 8 << 20;
  const auto device = device::CreateDevice(model, options, {.cpu = {.threads = 2, .blas = blas}});
  EXPECT_TRUE(device.ok()) << device.status();
  std::vector<int32_t> text;
  for (int64_t i = 0; i < tokens; ++i) text.push_back(static_cast<int32_t>((7 * i + 3) % TestingModel::kVocabulary));
  const auto sequence = *(*device)->cache().NewSequence({});
  EXPECT_TRUE((*device)->cache().Reserve(*sequence, tokens).ok());
  const SequenceStep step{sequence.get(), text, Rows::kLast};
  auto result = Forward(**device, {&step, 1});
  EXPECT_TRUE(result.ok()) << result.status();
  return *result->Copy();
}

class BlasPrefill : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto blas = Blas::Open(); !blas.ok()) GTEST_SKIP() << blas.status();
    bytes_ = TestingModel::Llama().Bytes();
    model_ = *model::LoadBytes(bytes_);
  }

  std::string bytes_;
  std::shared_ptr<const model::Model> model_;
};

TEST_F(BlasPrefill, AgreesWithOurOwnProductsButForRounding) {
  const std::vector<float> own = LogitsOf(model_, false, 100), blas = LogitsOf(model_, true, 100);
  double squares = 0;
  for (const float value : own) squares += double{value} * value;
  const double magnitude = std::sqrt(squares / static_cast<double>(own.size()));
  for (size_t i = 0; i < own.size(); ++i) EXPECT_NEAR(own[i], blas[i], 1e-3 * magnitude) << i;
  EXPECT_NE(own, blas) << "OpenBLAS was not used";
}

TEST_F(BlasPrefill, LeavesFewTokensToOurOwnProducts) {
  EXPECT_EQ(LogitsOf(model_, false, 8), LogitsOf(model_, true, 8));
}

TEST_F(BlasPrefill, MultipliesWithTheTransposeOfTheWeights) {
  const float x[] = {1, 2, 99, 3, 4, 99}, weights[] = {5, 6, 7, 8};  // x: two rows of two, three floats apart
  float out[6] = {};
  Blas::Open()->Multiply({x, 2, 2, 3}, {weights, 2, 2, 2}, out, 3);
  EXPECT_EQ(std::vector<float>(out, out + 6), (std::vector<float>{17, 23, 0, 39, 53, 0}));
}

}  // namespace
}  // namespace inferd::forward
