#include "kernels/arm_neon/formats.h"

#include "kernels/arm_neon/format_table.h"

namespace inferd::kernels::neon {
namespace {

struct Variant {
  template <auto kUnpack, TileKind kKind>
  static constexpr PanelFormat Format() {
    return {kUnpack, TileOf<kKind>};
  }
};

}  // namespace

const PanelFormat& FormatOf(TensorType type) { return FindFormat<Variant>(type); }

}  // namespace inferd::kernels::neon
