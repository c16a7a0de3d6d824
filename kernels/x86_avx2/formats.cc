#include "kernels/x86_avx2/formats.h"

#include "kernels/x86_avx2/format_table.h"

namespace inferd::kernels::avx2 {
namespace {

struct Tiles {
  template <int kBits, Extra32 kExtra>
  static TileFunction Tile32(int panels, int tokens) {
    return avx2::Tile32<kBits, kExtra>(panels, tokens);
  }
  template <int kBits, int kGroup, Extra256 kExtra>
  static TileFunction Tile256(int panels, int tokens) {
    return avx2::Tile256<kBits, kGroup, kExtra>(panels, tokens);
  }
  template <TensorType kType>
  static void Direct(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& arguments) {
    avx2::Direct<kType>(rows, stride, next, arguments);
  }
};

}  // namespace

const PanelFormat& FormatOf(TensorType type) { return FindFormat<Tiles>(type); }

}  // namespace inferd::kernels::avx2
