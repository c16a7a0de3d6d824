// Code books as the search over them wants them: one row for each place of an entry, so that four entries are looked at
// at once, and lists of the entries that may be best for a few values.
//
//   const Grid& grid = GridIQ2_XS();
//   ListEntries(grid, x, w, parity, scales, shortlist);
//   Entry best = shortlist.BestAt(scale);   // x[i] ~ scale * grid.value(best.index, i)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace inferd::quantize {

constexpr size_t kMostTrials = 12;  // scales that a list is made for

// size entries of `places` values each (8 or 4).
struct Grid {
  int size = 0, places = 0;
  std::vector<float> values, squares;  // [size / 4][places][4]
  float value(int index, int place) const {
    return values[static_cast<size_t>((index / 4 * places + place) * 4 + index % 4)];
  }
};

const Grid& GridIQ2_XXS();
const Grid& GridIQ2_XS();
const Grid& GridIQ2_S();
const Grid& GridIQ3_XXS();
const Grid& GridIQ3_S();
const Grid& GridIQ1Up();      // shifted by +1
const Grid& GridIQ1Down();    // shifted by -1
const Grid& GridIQ1Either();  // both, up first

// For the error at a scale s: sum w (x - s g)^2 = sum w x^2 + s (s gg - 2 xg).
struct Entry {
  int index = 0;
  float xg = 0, gg = 0;
  float CostAt(float scale) const { return scale * (scale * gg - 2 * xg); }
};

struct Shortlist {
  std::array<Entry, kMostTrials> entries;
  int count = 0;
  const Entry& BestAt(float scale) const;
};

// The best entry for each of at most kMostTrials scales above 0. x: magnitudes where signs are stored beside. With
// `odd_signs` the sign of one more value must be turned: that of the least loss (TurnedPlace).
void ListEntries(const Grid& grid, const float* x, const float* w, bool odd_signs, std::span<const float> scales,
                 Shortlist& out);

// Where the sign is turned.
int TurnedPlace(const Grid& grid, int index, const float* x, const float* w);

}  // namespace inferd::quantize
