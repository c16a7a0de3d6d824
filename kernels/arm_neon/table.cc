// The table of the neon variant: its own functions, and the reference's where it has none.
#include "kernels/variants.h"

namespace inferd::kernels::neon {

const Kernels kTable = {
    .name = "neon",
};

}  // namespace inferd::kernels::neon
