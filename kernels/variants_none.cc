// Kernel variants of a processor family without a folder of its own: the reference.
#include "kernels/variants.h"

namespace inferd::kernels {
namespace {

constexpr Variant kVariants[] = {{&reference::kTable, [] { return true; }}};

constexpr const char* kNames[] = {"reference", nullptr};

}  // namespace

VariantList Variants() { return {kVariants, 1, kNames}; }

}  // namespace inferd::kernels
