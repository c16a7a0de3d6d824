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
};

}  // namespace

PanelFormat FormatOf(TensorType type) {
  PanelFormat format = avx2::FindFormat<Tiles>(type);
  format.direct = DirectOf(type);
  return format;
}

}  // namespace inferd::kernels::avxvnni
