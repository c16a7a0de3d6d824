// Kernel variants of 64-bit ARM and the questions to the operating system that decide whether this CPU runs them.
#include <asm/hwcap.h>
#include <sys/auxv.h>

#include "kernels/variants.h"

namespace inferd::kernels {
namespace {

constexpr Variant kVariants[] = {
    {&reference::kTable, [] { return true; }},
    {&neon::kTable, [] { return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0; }},
    {&i8mm::kTable,
     [] { return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0 && (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0; }},
};

constexpr const char* kNames[] = {"reference", "neon", "neon_i8mm", nullptr};

}  // namespace

VariantList Variants() { return {kVariants, sizeof(kVariants) / sizeof(kVariants[0]), kNames}; }

}  // namespace inferd::kernels
