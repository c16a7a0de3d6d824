// The table of the avx2 variant: its own functions, and the reference's where it has none.
#include "kernels/variants.h"

namespace inferd::kernels::avx2 {

const Kernels kTable = {
    .name = "avx2",
};

}  // namespace inferd::kernels::avx2
