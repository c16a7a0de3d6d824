// Logits and hidden states of small models of many families against those of an independent implementation
// (../shared/oracles/archs). tests/run.sh makes the models.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/device/factory/device_factory.h"
#include "engine/forward/forward.h"
#include "engine/forward/testing_oracles.h"
#include "engine/gguf/gguf_file.h"
#include "engine/model/model.h"

namespace inferd::forward {
namespace {

using device::Device;
class Oracle : public testing::TestWithParam<OracleCase> {};

TEST_P(Oracle, GivesTheSameOutput) {
  const OracleCase& c = GetParam();
  const std::string path = ModelPath(c);
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent: run tests/run.sh once";
  auto file = gguf::GgufFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  auto model = model::Model::Load(*file);
  ASSERT_TRUE(model.ok()) << model.status();
  auto device = device::CreateDevice(
      *model,
      {.max_batch_tokens = 128, .max_result_rows = 128, .cache = {.bytes = 64 << 20, .type = kernels::CacheType::kF32}},
      {.cpu = {.threads = 2}});
  ASSERT_TRUE(device.ok()) << device.status();
  auto sequence = (*device)->cache().NewSequence({});
  ASSERT_TRUE(sequence.ok()) << sequence.status();
  ASSERT_TRUE((*device)->cache().Reserve(**sequence, static_cast<int64_t>(c.tokens.size())).ok());
  const SequenceStep step{sequence->get(), c.tokens, Rows::kAll};
  auto result = c.logits ? Forward(**device, {&step, 1}) : ForwardHidden(**device, {&step, 1});
  ASSERT_TRUE(result.ok()) << result.status();
  const std::vector<float> got = *result->Copy(), expected = Expected(c);
  ASSERT_EQ(got.size(), expected.size());
  const double error = RelativeError(got, expected);
  RecordProperty("error", std::to_string(error));
  EXPECT_LE(error, 1e-3);  // float arithmetic in another order, through a few layers
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Oracle);
INSTANTIATE_TEST_SUITE_P(Archs, Oracle, testing::ValuesIn(OracleCases()),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace inferd::forward
