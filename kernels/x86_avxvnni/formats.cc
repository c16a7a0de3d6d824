#include "kernels/x86_avxvnni/formats.h"

#include "kernels/x86_avx2/format_table.h"

namespace inferd::kernels::avxvnni {
namespace {

struct Tiles {
  template <int kBits, Extra32 kExtra>
  static TileFunction Tile32(int panels, int tokens) {
    return avxvnni::Tile32<kBits, kExtra>(panels, tokens);
  }
  template <int kBits, int kGroup, Extra256 kExtra>
  static TileFunction Tile256(int panels, int tokens) {
    return avxvnni::Tile256<kBits, kGroup, kExtra>(panels, tokens);
  }
  template <TensorType kType>
  static void Direct(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& arguments) {
    avxvnni::Direct<kType>(rows, stride, next, arguments);
  }
};

}  // namespace

const PanelFormat& FormatOf(TensorType type) { return avx2::FindFormat<Tiles>(type); }

}  // namespace inferd::kernels::avxvnni
