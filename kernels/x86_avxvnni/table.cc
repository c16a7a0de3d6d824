// The table of the avxvnni variant: the avx2 variant with other products of quantized weights.
#include "kernels/lanes/table.h"

#include "kernels/variants.h"
#include "kernels/x86_avx2/lanes.h"
#include "kernels/x86_avx2/peak.h"
#include "kernels/x86_avx2/products.h"
#include "kernels/x86_avxvnni/products.h"

namespace inferd::kernels::avxvnni {

const Kernels kTable =
    lanes::TableOf<avx2::Lanes>("avxvnni", {avx2::QuantizeRows, MatmulScratchBytes, Matmul, Int8Peak, avx2::FloatPeak});

}  // namespace inferd::kernels::avxvnni
