#include "engine/quantize/grid.h"

#include <algorithm>
#include <limits>

#include "engine/quantize/lanes.h"
#include "kernels/reference/codebooks.h"

namespace inferd::quantize {
namespace {

using kernels::reference::CodeBook;

constexpr int kMostEntries = 4096;

template <size_t kSize, size_t kPlaces>
Grid GridOf(const CodeBook<kSize, kPlaces>& book, std::initializer_list<int> shifts) {
  Grid grid{.size = static_cast<int>(kSize * shifts.size()), .places = static_cast<int>(kPlaces)};
  for (const int shift : shifts) {
    for (size_t i = 0; i < kSize; i += kLanes) {
      for (size_t place = 0; place < kPlaces; ++place) {
        for (size_t lane = 0; lane < kLanes; ++lane) {
          grid.values.push_back(static_cast<float>(book.values[i + lane][place] + shift));
        }
      }
    }
  }
  for (const float value : grid.values) grid.squares.push_back(value * value);
  return grid;
}

// xg and gg of all entries.
template <int kPlaces, bool kOddSigns>
void Products(const Grid& grid, const float* x, const float* w, float* xg, float* gg) {
  Lanes wx[kPlaces], ws[kPlaces];
  for (int place = 0; place < kPlaces; ++place) {
    wx[place] = Splat(w[place] * x[place]);
    ws[place] = Splat(w[place]);
  }
  const float *values = grid.values.data(), *squares = grid.squares.data();
  for (int i = 0; i < grid.size; i += kLanes, values += kLanes * kPlaces, squares += kLanes * kPlaces) {
    Lanes x_sum{}, g_sum{}, least = Splat(std::numeric_limits<float>::max());
#pragma GCC unroll 8
    for (int place = 0; place < kPlaces; ++place) {
      const Lanes product = wx[place] * Load(values + kLanes * place);
      x_sum += product;
      g_sum += ws[place] * Load(squares + kLanes * place);
      if constexpr (kOddSigns) least = product < least ? product : least;
    }
    Store(kOddSigns ? x_sum - Splat(2) * least : x_sum, xg + i);
    Store(g_sum, gg + i);
  }
}

Lanes CostAt(const float* xg, const float* gg, int i, float scale) {
  return Splat(scale) * Load(gg + i) - Splat(2) * Load(xg + i);
}

// The first entry of least cost. Only the smallest cost of each chunk is kept on the way; its place is looked up after.
int BestIndex(const float* xg, const float* gg, int size, float scale) {
  constexpr int kChunk = 64;
  float best = std::numeric_limits<float>::infinity();
  int best_chunk = 0;
  for (int chunk = 0; chunk < size; chunk += kChunk) {
    Lanes least = CostAt(xg, gg, chunk, scale);
    for (int i = chunk + kLanes; i < chunk + kChunk; i += kLanes) {
      const Lanes cost = CostAt(xg, gg, i, scale);
      least = cost < least ? cost : least;
    }
    const float smallest = std::min(std::min(least[0], least[1]), std::min(least[2], least[3]));
    if (!(smallest < best)) continue;
    best = smallest;
    best_chunk = chunk;
  }
  for (int i = best_chunk; i < best_chunk + kChunk; i += kLanes) {
    const Lanes cost = CostAt(xg, gg, i, scale);
    for (int lane = 0; lane < kLanes; ++lane) {
      if (cost[lane] == best) return i + lane;
    }
  }
  return best_chunk;
}

}  // namespace

const Grid& GridIQ2_XXS() {
  static const Grid grid = GridOf(kernels::reference::kCodeBookIQ2_XXS, {0});
  return grid;
}
const Grid& GridIQ2_XS() {
  static const Grid grid = GridOf(kernels::reference::kCodeBookIQ2_XS, {0});
  return grid;
}
const Grid& GridIQ2_S() {
  static const Grid grid = GridOf(kernels::reference::kCodeBookIQ2_S, {0});
  return grid;
}
const Grid& GridIQ3_XXS() {
  static const Grid grid = GridOf(kernels::reference::kCodeBookIQ3_XXS, {0});
  return grid;
}
const Grid& GridIQ3_S() {
  static const Grid grid = GridOf(kernels::reference::kCodeBookIQ3_S, {0});
  return grid;
}
const Grid& GridIQ1Up() {
  static const Grid grid = GridOf(kernels::reference::kCodeBookIQ1, {1});
  return grid;
}
const Grid& GridIQ1Down() {
  static const Grid grid = GridOf(kernels::reference::kCodeBookIQ1, {-1});
  return grid;
}
const Grid& GridIQ1Either() {
  static const Grid grid = GridOf(kernels::reference::kCodeBookIQ1, {1, -1});
  return grid;
}

const Entry& Shortlist::BestAt(float scale) const {
  const Entry* best = &entries[0];
  float least = best->CostAt(scale);
  for (int i = 1; i < count; ++i) {
    const Entry& entry = entries[static_cast<size_t>(i)];
    const float cost = entry.CostAt(scale);
    if (!(cost < least)) continue;
    least = cost;
    best = &entry;
  }
  return *best;
}

void ListEntries(const Grid& grid, const float* x, const float* w, bool odd_signs, std::span<const float> scales,
                 Shortlist& out) {
  alignas(16) float xg[kMostEntries], gg[kMostEntries];
  const auto products = grid.places == 4 ? Products<4, false> : odd_signs ? Products<8, true> : Products<8, false>;
  products(grid, x, w, xg, gg);
  out.count = 0;
  for (const float scale : scales) {
    const int index = BestIndex(xg, gg, grid.size, scale);
    if (out.count > 0 && out.entries[static_cast<size_t>(out.count - 1)].index == index) continue;
    out.entries[static_cast<size_t>(out.count++)] = {index, xg[index], gg[index]};
  }
}

int TurnedPlace(const Grid& grid, int index, const float* x, const float* w) {
  int place = 0;
  float least = std::numeric_limits<float>::max();
  for (int i = 0; i < grid.places; ++i) {
    const float product = w[i] * grid.value(index, i) * x[i];
    if (product < least) {
      least = product;
      place = i;
    }
  }
  return place;
}

}  // namespace inferd::quantize
