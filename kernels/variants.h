// The kernel variants of this build, for dispatch.cc alone. variants_<processor>.cc lists the instruction sets of one
// processor family, and says how to ask the running CPU for each.
#pragma once

#include <cstddef>

#include "kernels/kernels.h"

namespace inferd::kernels {

struct Variant {
  const Kernels* kernels;
  bool (*runs_here)();  // whether the CPU and the operating system support all that the variant uses
};

struct VariantList {
  const Variant* data;
  size_t size;
  const char* const* names;  // of the same variants in the same order, ending with nullptr
};

VariantList Variants();  // worst first; the first one, "reference", runs everywhere

// Tables of the folders beside this file.
namespace reference {
extern const Kernels kTable;
}
namespace avx2 {
extern const Kernels kTable;
}
namespace avxvnni {
extern const Kernels kTable;
}
namespace avx512 {
extern const Kernels kTable;
}
namespace neon {
extern const Kernels kTable;
}
namespace i8mm {
extern const Kernels kTable;
}

}  // namespace inferd::kernels
