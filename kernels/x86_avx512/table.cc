// The table of the avx512 variant.
#include "kernels/lanes/table.h"

#include "kernels/variants.h"
#include "kernels/x86_avx512/lanes.h"
#include "kernels/x86_avx512/peak.h"
#include "kernels/x86_avx512/products.h"

namespace inferd::kernels::avx512 {

const Kernels kTable = lanes::TableOf<Lanes>("avx512", {QuantizeRows, MatmulScratchBytes, Matmul, Int8Peak, FloatPeak});

}  // namespace inferd::kernels::avx512
