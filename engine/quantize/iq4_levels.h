// The table of IQ4_NL and IQ4_XS.
//
//   uint8_t code = Iq4Code(113);   // 15
#pragma once

#include "engine/quantize/fit_scale.h"
#include "engine/quantize/levels.h"
#include "kernels/reference/unpack.h"

namespace inferd::quantize {

struct Iq4Table {
  static constexpr const int8_t (&kValues)[16] = kernels::reference::kIq4Values;
};
using Iq4Levels = TableLevels<Iq4Table>;
constexpr ScaleSearch kIq4Search{80.0f, 136.0f, 28};

// The code of a value of the table.
inline uint8_t Iq4Code(int value) {
  uint8_t code = 0;
  while (Iq4Table::kValues[code] < value) ++code;
  return code;
}

}  // namespace inferd::quantize
