// The product of the neon_i8mm variant: panels for quantized weights and some tokens, the neon variant's else. smmla
// halves the products that two tokens need, which for few of them does not pay for pairing the columns.
#include "kernels/panels/matmul.h"

#include "kernels/arm_i8mm/formats.h"
#include "kernels/arm_i8mm/products.h"
#include "kernels/arm_neon/products.h"

namespace inferd::kernels::i8mm {
namespace {

struct Isa {
  static constexpr int kPanels = 1, kTokens = kTileTokens;
  static constexpr bool kTilesPrefetch = false;
  static const PanelFormat& FormatOf(TensorType type) { return i8mm::FormatOf(type); }
};

// Tokens are shared out to tiles evenly: more than one tile's have at least half a tile's each.
static_assert(kLeastTileTokens <= (kTileTokens + 1) / 2 && kTileTokens >= neon::kTileTokens);

}  // namespace

size_t MatmulScratchBytes(TensorType type, int64_t k) { return panels::Product<Isa>::ScratchBytes(type, k); }

void Matmul(const MatmulArguments& arguments) {
  const bool is_float = TraitsOf(arguments.weights.type).activation == ActivationFormat::kFloat;
  if (is_float || arguments.tokens < kLeastTileTokens) return neon::Matmul(arguments);
  panels::Product<Isa>::Matmul(arguments);
}

}  // namespace inferd::kernels::i8mm
