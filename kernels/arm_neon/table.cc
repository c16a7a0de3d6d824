// The table of the neon variant.
#include "kernels/lanes/table.h"

#include "kernels/arm_neon/lanes.h"
#include "kernels/arm_neon/peak.h"
#include "kernels/arm_neon/products.h"
#include "kernels/variants.h"

namespace inferd::kernels::neon {

const Kernels kTable = lanes::TableOf<Lanes>("neon", {QuantizeRows, MatmulScratchBytes, Matmul, Int8Peak, FloatPeak});

}  // namespace inferd::kernels::neon
