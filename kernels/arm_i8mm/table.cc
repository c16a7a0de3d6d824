// The table of the neon_i8mm variant: the neon variant with other products of quantized weights.
#include "kernels/lanes/table.h"

#include "kernels/arm_i8mm/products.h"
#include "kernels/arm_neon/lanes.h"
#include "kernels/arm_neon/peak.h"
#include "kernels/arm_neon/products.h"
#include "kernels/variants.h"

namespace inferd::kernels::i8mm {

const Kernels kTable = lanes::TableOf<neon::Lanes>(
    "neon_i8mm", {neon::QuantizeRows, MatmulScratchBytes, Matmul, Int8Peak, neon::FloatPeak});

}  // namespace inferd::kernels::i8mm
