// The product of the neon variant: panels for quantized weights, float_matmul.cc for the others.
#include "kernels/panels/matmul.h"

#include "kernels/arm_neon/formats.h"
#include "kernels/arm_neon/products.h"

namespace inferd::kernels::neon {
namespace {

struct Isa {
  static constexpr int kPanels = 1, kTokens = kTileTokens;
  static constexpr bool kTilesPrefetch = false;
  static const PanelFormat& FormatOf(TensorType type) { return neon::FormatOf(type); }
};

}  // namespace

size_t MatmulScratchBytes(TensorType type, int64_t k) { return panels::Product<Isa>::ScratchBytes(type, k); }

void Matmul(const MatmulArguments& arguments) {
  if (TraitsOf(arguments.weights.type).activation == ActivationFormat::kFloat) return FloatMatmul(arguments);
  panels::Product<Isa>::Matmul(arguments);
}

}  // namespace inferd::kernels::neon
