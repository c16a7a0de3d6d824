// Logits and hidden states of small models of many families against those of an independent implementation
// (../shared/oracles/archs). tests/run.sh makes the models.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "config/base/testing_paths.h"
#include "engine/device/device.h"
#include "engine/gguf/gguf_file.h"
#include "engine/model/forward.h"
#include "engine/model/model.h"

namespace inferd::device {
namespace {

const std::string kOracles = (OraclesPath() / "archs/").string();

struct Case {
  std::string name;
  std::vector<int32_t> tokens;
  bool logits;
  int64_t row_elements;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  if (!std::filesystem::exists(kOracles + "index.json")) return cases;
  const boost::json::value index = boost::json::parse(ReadFile(kOracles + "index.json"));
  for (const boost::json::value& entry : index.as_array()) {
    Case c;
    c.name = entry.at("name").as_string().c_str();
    for (const boost::json::value& token : entry.at("tokens").as_array()) c.tokens.push_back(token.to_number<int32_t>());
    c.logits = entry.at("output").as_string() == "logits";
    c.row_elements = entry.at("shape").as_array().at(1).to_number<int64_t>();
    cases.push_back(c);
  }
  return cases;
}

std::vector<float> Expected(const Case& c) {
  const std::string bytes = ReadFile(kOracles + c.name + (c.logits ? ".logits.f32" : ".embd.f32"));
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// The largest difference over the standard deviation of the expected values.
double RelativeError(const std::vector<float>& got, const std::vector<float>& expected) {
  double sum = 0, squares = 0, largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    sum += expected[i];
    squares += static_cast<double>(expected[i]) * expected[i];
    const double difference = std::abs(static_cast<double>(got[i]) - expected[i]);
    if (!(difference <= largest)) largest = difference;
  }
  const double n = static_cast<double>(expected.size()), mean = sum / n;
  return largest / std::sqrt(squares / n - mean * mean);
}

class Oracle : public testing::TestWithParam<Case> {};

TEST_P(Oracle, GivesTheSameOutput) {
  const Case& c = GetParam();
  const std::string path = (OracleModelsPath() / (c.name + ".gguf")).string();
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent: run tests/run.sh once";
  auto file = gguf::GgufFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  auto model = model::Model::Load(*file);
  ASSERT_TRUE(model.ok()) << model.status();
  auto device = Device::Create(*model, {.threads = 2, .max_batch_tokens = 128, .max_result_rows = 128,
                                        .cache = {.bytes = 64 << 20, .type = kernels::CacheType::kF32}});
  ASSERT_TRUE(device.ok()) << device.status();
  auto sequence = (*device)->cache().NewSequence({});
  ASSERT_TRUE(sequence.ok()) << sequence.status();
  ASSERT_TRUE((*device)->cache().Reserve(**sequence, static_cast<int64_t>(c.tokens.size())).ok());
  const model::SequenceStep step{sequence->get(), c.tokens, model::Rows::kAll};
  auto result = c.logits ? model::Forward(**device, {&step, 1}) : model::ForwardHidden(**device, {&step, 1});
  ASSERT_TRUE(result.ok()) << result.status();
  const std::vector<float> got(result->values.begin(), result->values.end()), expected = Expected(c);
  ASSERT_EQ(got.size(), expected.size());
  const double error = RelativeError(got, expected);
  RecordProperty("error", std::to_string(error));
  EXPECT_LE(error, 1e-3);  // float arithmetic in another order, through a few layers
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Oracle);
INSTANTIATE_TEST_SUITE_P(Archs, Oracle, testing::ValuesIn(Cases()), [](const auto& info) {
  std::string name = info.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

}  // namespace
}  // namespace inferd::device
