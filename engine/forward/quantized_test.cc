// The oracles' models with their matrices in quantized types, against the same values in f32: what differs is that
// activations are rounded to int8 before each product.
//
// The bound: a row of activations in blocks with one scale, max / 127, is off by max / (127 sqrt 12) in the mean; with
// max at 2.5 to 3.5 standard deviations that is 0.6 to 0.8 % of the row, and so of each product. A residual stream
// takes 4 such errors a layer and one in the head, which add up as the root of their number; norms, gates and softmax
// pass them on enlarged. Two per cent times that root covers the median row of all models but those whose router
// chooses another expert for some token, which changes its row and, through attention, those after it: of models with
// experts the better quarter of the rows is held to the bound.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/device/factory/device_factory.h"
#include "engine/forward/forward.h"
#include "engine/forward/testing_oracles.h"
#include "engine/gguf/gguf_writer.h"

namespace inferd::forward {
namespace {

using device::Device;
using kernels::TensorType;

uint16_t HalfOf(float x) {  // of normal numbers, rounded down: any scale will do, as long as both files use it
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const int32_t exponent = static_cast<int32_t>(bits >> 23 & 0xFF) - 112;
  if (exponent <= 0) return 0;
  return static_cast<uint16_t>((bits >> 16 & 0x8000) | static_cast<uint32_t>(exponent) << 10 | (bits >> 13 & 0x3FF));
}

void PutHalf(std::string& out, float x) {
  const uint16_t half = HalfOf(x);
  out.append(reinterpret_cast<const char*>(&half), sizeof half);
}

void EncodeQ8_0(const float* x, std::string& out) {
  float most = 0;
  for (int i = 0; i < 32; ++i) most = std::max(most, std::abs(x[i]));
  const float scale = std::max(most / 120, 1e-4f);
  PutHalf(out, scale);
  for (int i = 0; i < 32; ++i) out.push_back(static_cast<char>(std::lround(x[i] / scale)));
}

void EncodeQ4_0(const float* x, std::string& out) {
  float most = 0;
  for (int i = 0; i < 32; ++i) most = std::max(most, std::abs(x[i]));
  const float scale = std::max(most / 7, 1e-4f);
  PutHalf(out, scale);
  const auto digit = [&](int i) {
    return static_cast<uint8_t>(std::clamp<long>(std::lround(x[i] / scale) + 8, 0, 15));
  };
  for (int i = 0; i < 16; ++i) out.push_back(static_cast<char>(digit(i) | digit(i + 16) << 4));
}

// One scale and minimum for all of the superblock's eight parts: coarse, but every field is used.
void EncodeQ4_K(const float* x, std::string& out) {
  const auto [low, high] = std::minmax_element(x, x + 256);
  const float scale = std::max((*high - *low) / 15, 1e-4f), minimum = std::max(-*low, 1e-4f);
  PutHalf(out, scale / 32);  // times the six-bit scale 32
  PutHalf(out, minimum / 40);
  // Six bits each of parts 0..3 with the upper two of parts 4..7, whose lower four come last.
  out.append(4, static_cast<char>(32 | (32 >> 4) << 6));
  out.append(4, static_cast<char>(40 | (40 >> 4) << 6));
  out.append(4, static_cast<char>((32 & 15) | (40 & 15) << 4));
  const auto digit = [&](int i) {
    return static_cast<uint8_t>(std::clamp<long>(std::lround((x[i] + minimum) / scale), 0, 15));
  };
  for (int chunk = 0; chunk < 256; chunk += 64) {
    for (int i = 0; i < 32; ++i) out.push_back(static_cast<char>(digit(chunk + i) | digit(chunk + 32 + i) << 4));
  }
}

std::string Encode(TensorType type, const float* x, uint64_t n) {
  std::string out;
  const uint64_t block = kernels::TraitsOf(type).block_elements;
  for (uint64_t i = 0; i < n; i += block) {
    if (type == TensorType::kQ8_0) EncodeQ8_0(x + i, out);
    if (type == TensorType::kQ4_0) EncodeQ4_0(x + i, out);
    if (type == TensorType::kQ4_K) EncodeQ4_K(x + i, out);
  }
  return out;
}

bool IsMatrix(const gguf::Tensor& tensor, TensorType type) {
  const auto has = [&](std::string_view part) { return tensor.name.find(part) != std::string_view::npos; };
  return tensor.n_dims > 1 && tensor.dims[0] % kernels::TraitsOf(type).block_elements == 0 && tensor.dims[1] > 1 &&
         !has("norm") && !has("conv") && !has(".bias") && !has("ssm_a") && !has("ssm_d") && !has("gate_inp");
}

struct Files {
  std::string quantized, plain;  // the same values
};

Files Quantize(const gguf::GgufFile& file, TensorType type) {
  gguf::GgufWriter quantized, plain;
  for (const gguf::Entry& entry : file.entries()) {
    quantized.Add(entry);
    plain.Add(entry);
  }
  std::vector<std::string> quantized_data, plain_data;
  for (const gguf::Tensor& tensor : file.tensors()) {
    const std::span dims(tensor.dims.data(), tensor.n_dims);
    const bool matrix = IsMatrix(tensor, type);
    quantized.AddTensor(tensor.name, matrix ? type : TensorType::kF32, dims);
    plain.AddTensor(tensor.name, TensorType::kF32, dims);
    std::string bytes(reinterpret_cast<const char*>(tensor.data), tensor.bytes);
    if (matrix) {
      const std::string encoded = Encode(type, reinterpret_cast<const float*>(tensor.data), tensor.elements());
      kernels::SelectKernels("reference")
          ->dequantize_row(type, encoded.data(), static_cast<int64_t>(tensor.elements()),
                           reinterpret_cast<float*>(bytes.data()));
      quantized_data.push_back(encoded);
    } else {
      quantized_data.push_back(bytes);
    }
    plain_data.push_back(std::move(bytes));
  }
  return {quantized.ToBytes(quantized_data), plain.ToBytes(plain_data)};
}

std::vector<float> Outputs(const std::string& bytes, const OracleCase& c) {
  auto file = gguf::GgufFile::Parse({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, c.name);
  EXPECT_TRUE(file.ok()) << file.status();
  auto model = model::Model::Load(*file);
  EXPECT_TRUE(model.ok()) << model.status();
  auto device = device::CreateDevice(
      *model,
      {.max_batch_tokens = 128, .max_result_rows = 128, .cache = {.bytes = 64 << 20, .type = kernels::CacheType::kF32}},
      {.cpu = {.threads = 1}});
  auto sequence = (*device)->cache().NewSequence({});
  EXPECT_TRUE((*device)->cache().Reserve(**sequence, static_cast<int64_t>(c.tokens.size())).ok());
  const SequenceStep step{sequence->get(), c.tokens, Rows::kAll};
  auto result = c.logits ? Forward(**device, {&step, 1}) : ForwardHidden(**device, {&step, 1});
  EXPECT_TRUE(result.ok()) << result.status();
  return *result->Copy();
}

// The root mean square difference of each row over the standard deviation of all values, ascending: the one at `share`.
double RowError(const std::vector<float>& got, const std::vector<float>& expected, int64_t width, double share) {
  double sum = 0, squares = 0;
  for (float value : expected) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const double n = static_cast<double>(expected.size());
  const double deviation = std::sqrt(squares / n - sum / n * (sum / n));
  std::vector<double> rows;
  for (size_t row = 0; row < expected.size(); row += static_cast<size_t>(width)) {
    double difference = 0;
    for (int64_t i = 0; i < width; ++i)
      difference += std::pow(static_cast<double>(got[row + i]) - expected[row + i], 2);
    rows.push_back(std::sqrt(difference / static_cast<double>(width)) / deviation);
  }
  std::sort(rows.begin(), rows.end());
  return rows[static_cast<size_t>(static_cast<double>(rows.size()) * share)];
}

class Quantized : public testing::TestWithParam<std::tuple<OracleCase, TensorType>> {};

TEST_P(Quantized, StaysWithinWhatRoundedActivationsExplain) {
  const auto& [c, type] = GetParam();
  if (!std::filesystem::exists(ModelPath(c))) GTEST_SKIP() << ModelPath(c) << " is absent: run tests/run.sh once";
  const auto file = gguf::GgufFile::Open(ModelPath(c));
  ASSERT_TRUE(file.ok()) << file.status();
  const Files files = Quantize(**file, type);
  const auto model = model::Model::Load(*file);
  const model::DecoderSpec& spec = (*model)->spec();
  const double layers = static_cast<double>(spec.layers.size());
  const bool experts = spec.layers.back().feed_forward.experts.count > 0;
  const double error =
      RowError(Outputs(files.quantized, c), Outputs(files.plain, c), c.row_elements, experts ? 0.25 : 0.5);
  RecordProperty("error", std::to_string(error));
  EXPECT_GT(error, 0);
  EXPECT_LE(error, 0.02 * std::sqrt(4 * layers + 1));
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Quantized);
INSTANTIATE_TEST_SUITE_P(Archs, Quantized,
                         testing::Combine(testing::ValuesIn(OracleCases()),
                                          testing::Values(TensorType::kQ8_0, TensorType::kQ4_0, TensorType::kQ4_K)),
                         [](const auto& info) {
                           return NameOf(std::get<0>(info.param)) + "_" +
                                  kernels::TraitsOf(std::get<1>(info.param)).name;
                         });

}  // namespace
}  // namespace inferd::forward
