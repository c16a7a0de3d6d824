// The product of the avx2 variant: panels for quantized weights, float_matmul.cc for the others.
#include "kernels/panels/matmul.h"

#include "kernels/x86_avx2/formats.h"
#include "kernels/x86_avx2/products.h"

namespace inferd::kernels::avx2 {
namespace {

struct Isa {
  static constexpr int kPanels = 1, kTokens = kTileTokens;
  static constexpr bool kTilesPrefetch = true;
  static PanelFormat FormatOf(TensorType type) { return avx2::FormatOf(type); }
};

}  // namespace

size_t MatmulScratchBytes(TensorType type, int64_t k) { return panels::Product<Isa>::ScratchBytes(type, k); }

void Matmul(const MatmulArguments& arguments) {
  if (TraitsOf(arguments.weights.type).activation == ActivationFormat::kFloat) return FloatMatmul(arguments);
  panels::Product<Isa>::Matmul(arguments);
}

}  // namespace inferd::kernels::avx2
