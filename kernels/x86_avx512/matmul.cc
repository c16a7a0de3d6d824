// The product with quantized weights: for two panels of 16 rows at a time and a chunk of their elements, unpack the
// panels into scratch once, then run every token over them. The sums of a row pause in `out` between chunks, which
// rounds nothing.
#include "kernels/activations.h"
#include "kernels/reference/products.h"
#include "kernels/x86_avx512/panel.h"
#include "kernels/x86_avx512/products.h"
#include "kernels/x86_avx512/tile.h"

namespace inferd::kernels::avx512 {
namespace {

// Two panels of a chunk stay in the first-level cache beside few activations, or in the second under many.
constexpr int64_t kSmallChunk = 512, kLargeChunk = 4096;
constexpr int64_t kManyTokens = 16;
constexpr int64_t kGroupRows = kTilePanels * kPanelRows;

constexpr size_t kPanelBytes = kLargeChunk / 256 * sizeof(PanelBlock256) > kLargeChunk / 32 * sizeof(PanelBlock32)
                                   ? kLargeChunk / 256 * sizeof(PanelBlock256)
                                   : kLargeChunk / 32 * sizeof(PanelBlock32);

// What of the product's operands does not change from panel to panel.
struct Plan {
  const MatmulArguments& arguments;
  const PanelFormat& format;
  int64_t block_elements;  // of panel and activation blocks
  size_t panel_block_bytes, activation_block_bytes, activation_row_bytes;
  size_t weight_bytes_per_block;  // of one row, per panel block; NVFP4's blocks make two
  int64_t chunk;                  // elements
};

Plan MakePlan(const MatmulArguments& arguments) {
  const TypeTraits& traits = TraitsOf(arguments.weights.type);
  const bool super = traits.activation == ActivationFormat::kBlock256;
  const int64_t block_elements = super ? 256 : 32;
  return {.arguments = arguments,
          .format = FormatOf(arguments.weights.type),
          .block_elements = block_elements,
          .panel_block_bytes = super ? sizeof(PanelBlock256) : sizeof(PanelBlock32),
          .activation_block_bytes = super ? sizeof(ActivationBlock256) : sizeof(ActivationBlock32),
          .activation_row_bytes = reference::ActivationRowBytes(traits.activation, arguments.weights.k),
          .weight_bytes_per_block = traits.block_bytes * static_cast<size_t>(block_elements) / traits.block_elements,
          .chunk = arguments.tokens > kManyTokens ? kLargeChunk : kSmallChunk};
}

struct Chunk {
  int64_t row, rows;  // up to kGroupRows
  int64_t first_block, blocks;
};

// The existing rows of an incomplete panel, and zeros, where a panel's rows may be read.
const uint8_t* Staged(const uint8_t* rows, size_t stride, int64_t count, size_t bytes, uint8_t* staging) {
  for (int64_t r = 0; r < count; ++r)
    __builtin_memcpy(staging + static_cast<size_t>(r) * bytes, rows + static_cast<size_t>(r) * stride, bytes);
  __builtin_memset(staging + static_cast<size_t>(count) * bytes, 0, static_cast<size_t>(kPanelRows - count) * bytes);
  return staging;
}

void UnpackPanel(const Plan& plan, const Chunk& chunk, int panel, uint8_t* out, uint8_t* staging) {
  const WeightMatrix& weights = plan.arguments.weights;
  const int64_t row = chunk.row + panel * kPanelRows;
  const int64_t rows = chunk.rows - panel * kPanelRows;
  const size_t bytes = static_cast<size_t>(chunk.blocks) * plan.weight_bytes_per_block;
  const auto* base = static_cast<const uint8_t*>(weights.data);
  const auto* data = base + static_cast<size_t>(row) * weights.row_bytes +
                     static_cast<size_t>(chunk.first_block) * plan.weight_bytes_per_block;
  if (rows < kPanelRows) {
    plan.format.unpack(Staged(data, weights.row_bytes, rows, bytes, staging), bytes, chunk.blocks, staging, out);
    return;
  }
  // The rows of the next two panels follow in memory: they are asked for in order, a share with each chunk and panel.
  const uint8_t* next = data;
  if (chunk.row + kGroupRows < plan.arguments.row_end) {
    next = base + static_cast<size_t>(chunk.row + kGroupRows) * weights.row_bytes +
           static_cast<size_t>(kGroupRows * chunk.first_block) * plan.weight_bytes_per_block +
           static_cast<size_t>(panel * kPanelRows) * bytes;
  }
  plan.format.unpack(data, weights.row_bytes, chunk.blocks, next, out);
}

void MultiplyTokens(const Plan& plan, const Chunk& chunk, int panels, const uint8_t* panel_bytes) {
  const MatmulArguments& a = plan.arguments;
  TileArguments tile{.blocks = chunk.blocks, .first = chunk.first_block == 0};
  for (int p = 0; p < panels; ++p) {
    const int64_t rows = chunk.rows - p * kPanelRows;
    tile.panels[p] = panel_bytes + static_cast<size_t>(p) * kPanelBytes;
    tile.mask[p] = static_cast<uint16_t>(rows >= kPanelRows ? 0xFFFF : (1 << rows) - 1);
  }
  const int64_t tiles = (a.tokens + kTileTokens - 1) / kTileTokens;
  int64_t token = 0;
  for (int64_t i = 0; i < tiles; ++i) {  // tiles of equal size, up to one
    const int tokens = static_cast<int>((a.tokens - token + tiles - i - 1) / (tiles - i));
    for (int t = 0; t < tokens; ++t) {
      const int64_t source = a.activation_rows == nullptr ? token + t : a.activation_rows[token + t];
      tile.activations[t] = static_cast<const uint8_t*>(a.activations) +
                            static_cast<size_t>(source) * plan.activation_row_bytes +
                            static_cast<size_t>(chunk.first_block) * plan.activation_block_bytes;
      tile.out[t] = a.out + (token + t) * a.out_stride + chunk.row;
    }
    TileOf(plan.format.kind, panels, tokens)(tile);
    token += tokens;
  }
}

}  // namespace

size_t MatmulScratchBytes(TensorType type, int64_t) {
  const TypeTraits& traits = TraitsOf(type);
  if (traits.activation == ActivationFormat::kFloat) return 0;
  const size_t staging = kPanelRows * traits.block_bytes * static_cast<size_t>(kLargeChunk / traits.block_elements);
  return kTilePanels * kPanelBytes + (staging + 63) / 64 * 64;
}

void Matmul(const MatmulArguments& arguments) {
  if (TraitsOf(arguments.weights.type).activation == ActivationFormat::kFloat) return FloatMatmul(arguments);
  const Plan plan = MakePlan(arguments);
  auto* panels = static_cast<uint8_t*>(arguments.scratch);
  uint8_t* staging = panels + kTilePanels * kPanelBytes;
  const int64_t blocks = arguments.weights.k / plan.block_elements;
  const int64_t chunk_blocks = plan.chunk / plan.block_elements;
  for (int64_t row = arguments.row_begin; row < arguments.row_end; row += kGroupRows) {
    const int64_t rows = arguments.row_end - row < kGroupRows ? arguments.row_end - row : kGroupRows;
    const int panel_count = rows > kPanelRows ? 2 : 1;
    for (int64_t block = 0; block < blocks; block += chunk_blocks) {
      const Chunk chunk{row, rows, block, blocks - block < chunk_blocks ? blocks - block : chunk_blocks};
      for (int p = 0; p < panel_count; ++p) {
        UnpackPanel(plan, chunk, p, panels + static_cast<size_t>(p) * kPanelBytes, staging);
      }
      MultiplyTokens(plan, chunk, panel_count, panels);
    }
  }
}

}  // namespace inferd::kernels::avx512
