// The table of the avx2 variant.
#include "kernels/lanes/table.h"

#include "kernels/variants.h"
#include "kernels/x86_avx2/lanes.h"
#include "kernels/x86_avx2/peak.h"
#include "kernels/x86_avx2/products.h"

namespace inferd::kernels::avx2 {

const Kernels kTable = lanes::TableOf<Lanes>("avx2", {QuantizeRows, MatmulScratchBytes, Matmul, Int8Peak, FloatPeak});

}  // namespace inferd::kernels::avx2
