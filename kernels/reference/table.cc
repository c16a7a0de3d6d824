// The table of the reference variant, which defines each result.
#include "kernels/variants.h"

namespace inferd::kernels::reference {

const Kernels kTable = {
    .name = "reference",
};

}  // namespace inferd::kernels::reference
