// The product of the avxvnni variant: panels for quantized weights, those of the avx2 variant for the others.
#include "kernels/panels/matmul.h"

#include "kernels/x86_avx2/products.h"
#include "kernels/x86_avxvnni/formats.h"
#include "kernels/x86_avxvnni/products.h"

namespace inferd::kernels::avxvnni {
namespace {

struct Isa {
  static constexpr int kPanels = 1, kTokens = kTileTokens;
  static constexpr bool kTilesPrefetch = true;
  static PanelFormat FormatOf(TensorType type) { return avxvnni::FormatOf(type); }
};

}  // namespace

size_t MatmulScratchBytes(TensorType type, int64_t k) { return panels::Product<Isa>::ScratchBytes(type, k); }

void Matmul(const MatmulArguments& arguments) {
  if (TraitsOf(arguments.weights.type).activation == ActivationFormat::kFloat) return avx2::FloatMatmul(arguments);
  panels::Product<Isa>::Matmul(arguments);
}

}  // namespace inferd::kernels::avxvnni
