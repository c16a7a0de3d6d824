// Rows of tables of all types as floats, on the emulator: the reference's bits.
#include "kernels/gpu/embedding.h"

#include <gtest/gtest.h>

#include "kernels/gpu/gpu_stream.h"
#include "kernels/gpu_emulator/emulated_stream.h"
#include "kernels/gpu_emulator/testing.h"
#include "kernels/kernel_testing.h"

namespace inferd::kernels::gpu {
namespace {

TEST(EmbeddingOnGpu, GivesTheReferencesRows) {
  std::mt19937_64 random(3);
  const std::unique_ptr<GpuStream> stream = gpu_emulator::MakeEmulatedStream({gpu_emulator::LaneOrder::kRandom, 2});
  int types = 0;
  for (const TensorType type : testing::AllTypes()) {
    if (!stream->Has(type)) continue;
    ++types;
    const int64_t rows = 5, k = 512;
    const testing::Weights table = testing::RandomWeights(type, rows, k, random);
    const std::vector<int32_t> ids = {3, 0, 4, 3};
    std::vector<float> expected(ids.size() * k), got(expected.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      Reference().dequantize_row(type, table.bytes.data() + static_cast<size_t>(ids[i]) * table.row_bytes, k,
                                 expected.data() + i * k);
    }
    auto* const on_device = static_cast<uint8_t*>(stream->Allocate(table.bytes.size()));
    auto* const which = static_cast<int32_t*>(stream->Allocate(ids.size() * sizeof(int32_t)));
    auto* const out = static_cast<float*>(stream->Allocate(got.size() * sizeof(float)));
    stream->Copy(on_device, table.bytes.data(), table.bytes.size());
    stream->Copy(which, ids.data(), ids.size() * sizeof(int32_t));
    stream->Embed(
        type, static_cast<int64_t>(ids.size()),
        {.table = on_device, .row_bytes = static_cast<int64_t>(table.row_bytes), .ids = which, .k = k, .out = out});
    stream->Copy(got.data(), out, got.size() * sizeof(float));
    ASSERT_EQ(stream->Wait(), nullptr);
    EXPECT_EQ(got, expected) << TraitsOf(type).name;
    for (void* memory : {static_cast<void*>(on_device), static_cast<void*>(which), static_cast<void*>(out)}) {
      stream->Free(memory);
    }
  }
  EXPECT_EQ(types, 18);
}

}  // namespace
}  // namespace inferd::kernels::gpu
