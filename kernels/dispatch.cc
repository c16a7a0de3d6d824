// Chooses among the variants of this build; see kernels.h.
#include <cstring>

#include "kernels/variants.h"

namespace inferd::kernels {

const Kernels* SelectKernels(const char* name) {
  const VariantList variants = Variants();
  const Kernels* best = nullptr;
  for (size_t i = 0; i < variants.size; ++i) {
    const Variant& variant = variants.data[i];
    const bool wanted = name == nullptr || std::strcmp(name, variant.kernels->name) == 0;
    if (wanted && variant.runs_here()) best = variant.kernels;
  }
  return best;
}

const char* const* KernelVariants() { return Variants().names; }

}  // namespace inferd::kernels
