// The table of the avx512 variant: its own functions, and the reference's where it has none.
#include "kernels/variants.h"

namespace inferd::kernels::avx512 {

const Kernels kTable = {
    .name = "avx512",
};

}  // namespace inferd::kernels::avx512
