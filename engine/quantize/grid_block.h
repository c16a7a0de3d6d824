// 256 values as entries of a code book with an odd multiple of one scale for each group: the fit of all together.
//
//   GridBlock block;
//   FitGridBlock({.grids = {&GridIQ2_XS()}, .group = 16, .largest = 15, .unit = 0.125f, ...}, x, w, block);
//   x[i] ~ block.scale * unit * (2 * block.scales[i / 16] + 1) * value, with the sign of block.signs
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/quantize/grid.h"

namespace inferd::quantize {

enum class Signs : uint8_t {
  kOfValues,  // the code book has signs itself
  kFree,      // a bit for each value
  kEven,      // of eight values an even number is negative
};

struct GridType {
  std::array<const Grid*, 2> grids;  // a group takes all of its entries from one of them; the second may be nullptr
  Signs signs;
  int group;    // values with one multiple
  int largest;  // multiples are 1, 3, ... 2 * largest + 1
  float unit;
  size_t trials;      // scales of a group that are tried, from 2 to kMostTrials
  float first, last;  // of them: the largest value of the group over the grid's largest, times these
};

struct GridBlock {
  float scale = 0;                  // a half
  std::array<int, 16> scales{};     // of each group: (multiple - 1) / 2
  std::array<int, 16> grids{};      // of each group: which grid
  std::array<int, 64> indices{};    // of each 8 or 4 values
  std::array<uint8_t, 32> signs{};  // of each 8 values, set where negative
};

void FitGridBlock(const GridType& type, const float* x, const float* w, GridBlock& out);

}  // namespace inferd::quantize
