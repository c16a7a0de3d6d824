#include "kernels/quant_types.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "config/base/source_folder.h"
#include "kernels/kernels.h"
#include "kernels/testing/weights.h"

namespace inferd::kernels {
namespace {

namespace fs = std::filesystem;

std::vector<char> ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(FindTensorType, UnknownIdentifiersAreNull) {
  for (uint32_t id : {4u, 5u, 9u, 15u, 31u, 41u, 1000u, 0xFFFFFFFFu}) EXPECT_EQ(FindTensorType(id), nullptr) << id;
}

TEST(FindTensorType, BlocksAreWholeBytesAndActivationsFitThem) {
  for (TensorType type : testing::AllTypes()) {
    const TypeTraits& traits = TraitsOf(type);
    EXPECT_EQ(traits.block_elements == 256, traits.activation == ActivationFormat::kBlock256) << traits.name;
    EXPECT_EQ(traits.block_elements == 1, traits.activation == ActivationFormat::kFloat) << traits.name;
  }
}

// Values made by the `gguf` Python package: every type, bit by bit, by every variant.
TEST(DequantizeRow, EqualsTheIndependentImplementation) {
  const fs::path oracles = SourceFolder() / "../shared/oracles/quants";
  if (!fs::exists(oracles)) GTEST_SKIP() << "no " << oracles;
  for (TensorType type : testing::AllTypes()) {
    const TypeTraits& traits = TraitsOf(type);
    const std::vector<char> bytes = ReadFile(oracles / (std::string(traits.name) + ".bin"));
    const std::vector<char> expected = ReadFile(oracles / (std::string(traits.name) + ".f32"));
    const size_t elements = bytes.size() / traits.block_bytes * traits.block_elements;
    ASSERT_GT(elements, 0u) << traits.name;
    ASSERT_EQ(expected.size(), elements * sizeof(float)) << traits.name;
    for (const char* const* variant = KernelVariants(); *variant != nullptr; ++variant) {
      const Kernels* kernels = SelectKernels(*variant);
      if (kernels == nullptr) continue;
      std::vector<float> values(elements);
      kernels->dequantize_row(type, bytes.data(), static_cast<int64_t>(elements), values.data());
      EXPECT_EQ(std::memcmp(values.data(), expected.data(), expected.size()), 0) << traits.name << " " << *variant;
    }
  }
}

}  // namespace
}  // namespace inferd::kernels
