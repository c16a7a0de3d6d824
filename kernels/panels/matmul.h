// The product with quantized weights, for any instruction set: for a few panels of 16 rows at a time and a chunk of
// their elements, unpack the panels into scratch once, then run every token over them. The sums of a row pause in `out`
// between chunks, which rounds nothing. One token alone is multiplied without panels where the type has that way.
//
//   struct Isa {
//     static constexpr int kPanels = 2, kTokens = 6;            // of the largest tile
//     static constexpr bool kTilesPrefetch = true;              // whether tiles heed TileArguments::next
//     static PanelFormat FormatOf(TensorType type);
//   };
//   Product<Isa>::Matmul(arguments);
#pragma once

#include "kernels/activations.h"
#include "kernels/kernels.h"
#include "kernels/panels/panel.h"
#include "kernels/reference/products.h"

namespace inferd::kernels::panels {

template <typename Isa>
class Product {
 public:
  static size_t ScratchBytes(TensorType type, int64_t) {
    const TypeTraits& traits = TraitsOf(type);
    if (traits.activation == ActivationFormat::kFloat) return 0;
    return kStagingBegin + kPanelRows * traits.block_bytes * static_cast<size_t>(kLargeChunk / traits.block_elements);
  }

  static void Matmul(const MatmulArguments& arguments) { Product(arguments).Run(); }

 private:
  // A chunk's panels stay in the first-level cache beside few activations, or in the second under many.
  static constexpr int64_t kSmallChunk = 384, kLargeChunk = 4096, kManyTokens = 16;
  // From so many tokens on, the next weights are asked for while tiles compute instead of while panels are unpacked.
  static constexpr int64_t kComputeBoundTokens = 5, kMostPrefetchingTiles = 8;
  static constexpr int64_t kLineBytes = 64, kLineElements = 32;
  static constexpr int64_t kGroupRows = Isa::kPanels * kPanelRows;

  // Scratch: the panels, columns of an incomplete group, then rows of an incomplete panel.
  static constexpr size_t kPanelBytes = kLargeChunk / 256 * sizeof(PanelBlock256);
  static constexpr size_t kColumnsBegin = Isa::kPanels * kPanelBytes;
  static constexpr size_t kStagingBegin = kColumnsBegin + Isa::kTokens * kGroupRows * sizeof(float);
  static_assert(kPanelBytes >= kLargeChunk / 32 * sizeof(PanelBlock32));

  // Part of a group of panels: rows row..row+rows-1, and some of their blocks.
  struct Chunk {
    int64_t row, rows, first_block, blocks;
    int Panels() const { return static_cast<int>((rows + kPanelRows - 1) / kPanelRows); }
  };

  explicit Product(const MatmulArguments& arguments)
      : a_(arguments),
        traits_(TraitsOf(arguments.weights.type)),
        format_(Isa::FormatOf(arguments.weights.type)),
        super_(traits_.activation == ActivationFormat::kBlock256),
        block_elements_(super_ ? 256 : 32),
        weight_bytes_(traits_.block_bytes * static_cast<size_t>(block_elements_) / traits_.block_elements),
        activation_row_bytes_(reference::ActivationRowBytes(traits_.activation, arguments.weights.k)),
        scratch_(static_cast<uint8_t*>(arguments.scratch)) {}

  void Run() {
    const int64_t blocks = a_.weights.k / block_elements_;
    const int64_t most_blocks = (a_.tokens > kManyTokens ? kLargeChunk : kSmallChunk) / block_elements_;
    const int64_t chunks = (blocks + most_blocks - 1) / most_blocks;
    const int64_t chunk_blocks = WholeBlocks((blocks + chunks - 1) / chunks);
    int64_t row = a_.row_begin;
    if (a_.tokens == 1 && format_.direct != nullptr) {
      for (; row + kPanelRows <= a_.row_end; row += kPanelRows) MultiplyDirectly(row, blocks);
    }
    for (; row < a_.row_end; row += kGroupRows) {
      for (int64_t block = 0; block < blocks; block += chunk_blocks) {
        const Chunk chunk{row, Least(a_.row_end - row, kGroupRows), block, Least(blocks - block, chunk_blocks)};
        for (int p = 0; p < chunk.Panels(); ++p) UnpackPanel(chunk, p);
        MultiplyTokens(chunk);
      }
    }
  }

  void MultiplyDirectly(int64_t row, int64_t blocks) const {
    const int64_t source = a_.activation_rows == nullptr ? 0 : a_.activation_rows[0];
    const uint8_t* next = row + kPanelRows < a_.row_end ? Row(row + kPanelRows) : Next();
    if (next == nullptr) next = Row(row);
    format_.direct(
        Row(row), a_.weights.row_bytes, next,
        {.blocks = blocks, .activations = {ActivationBlock(source, 0)}, .out = {a_.out + row}, .first = true});
  }

  void UnpackPanel(const Chunk& chunk, int panel) {
    const int64_t row = chunk.row + panel * kPanelRows;
    const int64_t rows = chunk.rows - panel * kPanelRows;
    const size_t bytes = static_cast<size_t>(chunk.blocks) * weight_bytes_;
    const uint8_t* data = Row(row) + static_cast<size_t>(chunk.first_block) * weight_bytes_;
    uint8_t* out = scratch_ + static_cast<size_t>(panel) * kPanelBytes;
    if (rows < kPanelRows) {
      const uint8_t* staged = Stage(data, rows, bytes);
      return format_.unpack(staged, bytes, chunk.blocks, staged, out);
    }
    const uint8_t* next = TilesPrefetch() ? nullptr : NextShare(chunk);
    if (next != nullptr) next += static_cast<size_t>(panel * kPanelRows) * bytes;
    format_.unpack(data, a_.weights.row_bytes, chunk.blocks, next != nullptr ? next : data, out);
  }

  bool TilesPrefetch() const { return Isa::kTilesPrefetch && a_.tokens >= kComputeBoundTokens; }

  // The rows of the next group, which follow in memory, or what the caller reads next: they are asked for in order, a
  // share with each chunk. Its first byte.
  const uint8_t* NextShare(const Chunk& chunk) const {
    const uint8_t* next = chunk.row + kGroupRows < a_.row_end ? Row(chunk.row + kGroupRows) : Next();
    return next == nullptr ? nullptr : next + static_cast<size_t>(kGroupRows * chunk.first_block) * weight_bytes_;
  }

  // The existing rows of an incomplete panel, and zeros, where a panel's rows may be read.
  const uint8_t* Stage(const uint8_t* data, int64_t rows, size_t bytes) {
    uint8_t* staging = scratch_ + kStagingBegin;
    for (int64_t r = 0; r < kPanelRows; ++r, data += a_.weights.row_bytes) {
      uint8_t* out = staging + static_cast<size_t>(r) * bytes;
      if (r < rows) {
        __builtin_memcpy(out, data, bytes);
      } else {
        __builtin_memset(out, 0, bytes);
      }
    }
    return staging;
  }

  void MultiplyTokens(const Chunk& chunk) {
    TileArguments tile{.blocks = chunk.blocks, .first = chunk.first_block == 0};
    for (int p = 0; p < chunk.Panels(); ++p) tile.panels[p] = scratch_ + static_cast<size_t>(p) * kPanelBytes;
    const int64_t tiles = (a_.tokens + Isa::kTokens - 1) / Isa::kTokens;
    const int64_t prefetching_tiles = TilesPrefetch() ? Least(tiles, kMostPrefetchingTiles) : 0;
    if (prefetching_tiles > 0) tile.next = NextShare(chunk);
    if (tile.next != nullptr) {
      const int64_t bytes = kGroupRows * chunk.blocks * static_cast<int64_t>(weight_bytes_);
      const int64_t steps = chunk.blocks * (block_elements_ / kLineElements) * prefetching_tiles;
      tile.lines = static_cast<int>((bytes + steps * kLineBytes - 1) / (steps * kLineBytes));
    }
    int64_t token = 0;
    for (int64_t i = 0; i < tiles; ++i) {  // of equal size, up to one
      if (i == prefetching_tiles) tile.lines = 0;
      const int tokens = static_cast<int>((a_.tokens - token + tiles - i - 1) / (tiles - i));
      for (int t = 0; t < tokens; ++t) {
        const int64_t source = a_.activation_rows == nullptr ? token + t : a_.activation_rows[token + t];
        tile.activations[t] = ActivationBlock(source, chunk.first_block);
        tile.out[t] = a_.out + (token + t) * a_.out_stride + chunk.row;
      }
      const bool known = a_.activation_rows == nullptr && i + 1 < tiles;
      tile.ahead = known ? tokens * static_cast<int64_t>(activation_row_bytes_) : 0;
      const TileFunction multiply = format_.tile(chunk.Panels(), tokens);
      if (chunk.rows == chunk.Panels() * kPanelRows) {
        multiply(tile);
      } else {
        MultiplyAside(multiply, tile, chunk.rows, tokens);
      }
      tile.next += tile.lines * kLineBytes * chunk.blocks * (block_elements_ / kLineElements);
      token += tokens;
    }
  }

  // A tile writes whole panels: where `out` has fewer columns, it does so in scratch.
  void MultiplyAside(TileFunction multiply, TileArguments tile, int64_t rows, int tokens) {
    auto* columns = reinterpret_cast<float*>(scratch_ + kColumnsBegin);
    float* out[kMostTokens];
    for (int t = 0; t < tokens; ++t) {
      out[t] = tile.out[t];
      tile.out[t] = columns + t * kGroupRows;
      if (!tile.first) __builtin_memcpy(tile.out[t], out[t], static_cast<size_t>(rows) * sizeof(float));
    }
    multiply(tile);
    for (int t = 0; t < tokens; ++t) __builtin_memcpy(out[t], tile.out[t], static_cast<size_t>(rows) * sizeof(float));
  }

  // Up to whole blocks of the type: those of NVFP4 are two panel blocks.
  int64_t WholeBlocks(int64_t panel_blocks) const {
    return traits_.block_elements == 64 ? (panel_blocks + 1) / 2 * 2 : panel_blocks;
  }
  static int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }

  const uint8_t* Row(int64_t row) const {
    return static_cast<const uint8_t*>(a_.weights.data) + static_cast<size_t>(row) * a_.weights.row_bytes;
  }

  const uint8_t* Next() const { return static_cast<const uint8_t*>(a_.next); }

  const uint8_t* ActivationBlock(int64_t row, int64_t block) const {
    const size_t block_bytes = super_ ? sizeof(ActivationBlock256) : sizeof(ActivationBlock32);
    return static_cast<const uint8_t*>(a_.activations) + static_cast<size_t>(row) * activation_row_bytes_ +
           static_cast<size_t>(block) * block_bytes;
  }

  const MatmulArguments& a_;
  const TypeTraits& traits_;
  const PanelFormat format_;
  const bool super_;
  const int64_t block_elements_;  // of panel and activation blocks
  const size_t weight_bytes_;     // of one row's part of a panel block
  const size_t activation_row_bytes_;
  uint8_t* const scratch_;
};

}  // namespace inferd::kernels::panels
