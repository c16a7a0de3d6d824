// Kernel variants of a processor family without a folder of its own: the reference.
#include "kernels/variants.h"

namespace inferd::kernels {
namespace {

constexpr Variant kVariants[] = {{&reference::kTable, [] { return true; }}};

}  // namespace

VariantList Variants() { return {kVariants, 1}; }

}  // namespace inferd::kernels
