// The kernels of kernels/gpu for NVIDIA GPUs: each template for each type that has it.
#include "kernels/gpu/attention.h"
#include "kernels/gpu/elementwise.h"
#include "kernels/gpu/embedding.h"
#include "kernels/gpu/float_product.h"
#include "kernels/gpu/lookup_types.h"
#include "kernels/gpu/matrix_product.h"
#include "kernels/gpu/norms.h"
#include "kernels/gpu/page_write.h"
#include "kernels/gpu/quantize.h"
#include "kernels/gpu/vector_product.h"
#include "kernels/gpu/vocabulary.h"

namespace inferd::kernels::gpu {

#define INFERD_QUANTIZED(type)                                     \
  template __global__ void MultiplyVector<type>(ProductArguments); \
  template __global__ void MultiplyMatrix<type>(ProductArguments); \
  template __global__ void EmbedRows<type>(EmbeddingArguments)
INFERD_QUANTIZED(TypeQ4_0);
INFERD_QUANTIZED(TypeQ4_1);
INFERD_QUANTIZED(TypeQ5_0);
INFERD_QUANTIZED(TypeQ5_1);
INFERD_QUANTIZED(TypeQ8_0);
INFERD_QUANTIZED(TypeQ2_K);
INFERD_QUANTIZED(TypeQ3_K);
INFERD_QUANTIZED(TypeQ4_K);
INFERD_QUANTIZED(TypeQ5_K);
INFERD_QUANTIZED(TypeQ6_K);
INFERD_QUANTIZED(TypeIQ4_NL);
INFERD_QUANTIZED(TypeMXFP4);
INFERD_QUANTIZED(TypeIQ4_XS);
INFERD_QUANTIZED(TypeTQ1_0);
INFERD_QUANTIZED(TypeTQ2_0);
#undef INFERD_QUANTIZED

#define INFERD_FLOAT(type)                                         \
  template __global__ void MultiplyFloats<type>(ProductArguments); \
  template __global__ void EmbedFloatRows<type>(EmbeddingArguments)
INFERD_FLOAT(TypeF32);
INFERD_FLOAT(TypeF16);
INFERD_FLOAT(TypeBF16);
#undef INFERD_FLOAT

}  // namespace inferd::kernels::gpu
