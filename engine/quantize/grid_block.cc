#include "engine/quantize/grid_block.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "engine/quantize/half_scale.h"

namespace inferd::quantize {
namespace {

constexpr int kBlock = 256;
constexpr int kMostRounds = 3, kEnds = 5;

// The lists of one group, for each grid and each place of an entry.
struct Group {
  std::array<std::array<Shortlist, 8>, 2> lists;
  int entries = 0;   // of the group
  float wanted = 0;  // scale
};

struct Sums {
  float xg = 0, gg = 0;
  float CostAt(float scale) const { return scale * (scale * gg - 2 * xg); }
};

// What the best entries of one grid at a scale sum up to.
Sums SumsAt(const Group& group, int grid, float scale) {
  Sums sums;
  for (int i = 0; i < group.entries; ++i) {
    const Entry& entry = group.lists[static_cast<size_t>(grid)][static_cast<size_t>(i)].BestAt(scale);
    sums.xg += entry.xg;
    sums.gg += entry.gg;
  }
  return sums;
}

struct Choice {
  int grid = 0;
  Sums sums;
};

Choice ChooseAt(const GridType& type, const Group& group, float scale) {
  Choice best{0, SumsAt(group, 0, scale)};
  if (type.grids[1] == nullptr) return best;
  const Choice other{1, SumsAt(group, 1, scale)};
  return other.sums.CostAt(scale) < best.sums.CostAt(scale) ? other : best;
}

class BlockFitter {
 public:
  BlockFitter(const GridType& type, const float* x, const float* w) : type_(type), x_(x), w_(w) {
    for (int i = 0; i < kBlock; ++i) targets_[i] = type.signs == Signs::kOfValues ? x[i] : std::fabs(x[i]);
    for (int i = 0; i < 32; ++i) {
      for (int j = 0; j < 8 && type.signs != Signs::kOfValues; ++j) signs_[i] |= (x[8 * i + j] < 0 ? 1 : 0) << j;
    }
    if (type.signs == Signs::kEven && Places() == 4) TurnSmallest();
  }

  void Fit(GridBlock& out) {
    float largest = 0;
    for (int j = 0; j < Groups(); ++j) {
      List(j);
      largest = std::max(largest, groups_[j].wanted);
    }
    for (int end = 0; end < kEnds; ++end) {
      Consider(largest / (type_.unit * static_cast<float>(2 * (type_.largest - end) + 1)));
    }
    for (int round = 0; round < kMostRounds && best_.scale != 0; ++round) {
      if (!Consider(Solved())) break;
    }
    out = best_;
    for (int j = 0; j < Groups(); ++j) PutGroup(j, out);
  }

 private:
  int Groups() const { return kBlock / type_.group; }
  int Places() const { return type_.grids[0]->places; }
  float ScaleOf(float scale, int multiple) const { return scale * type_.unit * static_cast<float>(2 * multiple + 1); }

  // Eight values share a parity but lie in two entries: the sign that costs least at any scale is turned at once.
  void TurnSmallest() {
    for (int i = 0; i < 32; ++i) {
      if (std::popcount(signs_[i]) % 2 == 0) continue;
      int smallest = 0;
      for (int j = 1; j < 8; ++j) {
        if (Loss(8 * i + j) < Loss(8 * i + smallest)) smallest = j;
      }
      signs_[i] ^= static_cast<uint8_t>(1 << smallest);
      targets_[8 * i + smallest] = -targets_[8 * i + smallest];
    }
  }
  float Loss(int i) const { return w_[i] * x_[i] * x_[i]; }
  bool Odd(int first) const {
    return type_.signs == Signs::kEven && Places() == 8 && std::popcount(signs_[first / 8]) % 2 != 0;
  }

  void List(int j) {
    Group& group = groups_[j];
    const int first = j * type_.group;
    group.entries = type_.group / Places();
    float largest = 0, scales[kMostTrials];
    for (int i = first; i < first + type_.group; ++i) largest = std::max(largest, std::fabs(x_[i]));
    largest = std::max(largest, kSmallestValue);
    const std::vector<float>& values = type_.grids[0]->values;
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const float top = largest / *most;
    const size_t trials = type_.trials;
    for (size_t trial = 0; trial < trials; ++trial) {
      const float share = static_cast<float>(trial) / static_cast<float>(trials - 1);
      scales[trial] = top * (type_.first + (type_.last - type_.first) * share);
    }
    // Values all alike are best as the smallest of the grid.
    if (*least > 0) scales[trials - 1] = largest / *least;
    for (size_t grid = 0; grid < 2 && type_.grids[grid] != nullptr; ++grid) {
      for (int i = 0; i < group.entries; ++i) {
        const int at = first + i * Places();
        ListEntries(*type_.grids[grid], targets_ + at, w_ + at, Odd(at), {scales, type_.trials},
                    group.lists[grid][static_cast<size_t>(i)]);
      }
    }
    group.wanted = Wanted(group, scales);
  }

  // The scale of least cost: that of the least squares of the best trial's entries, improved in turn.
  float Wanted(const Group& group, const float* scales) const {
    float wanted = 0, least = 0;
    const auto consider = [&](float trial) {
      const Sums sums = ChooseAt(type_, group, trial).sums;
      if (!(sums.xg > 0 && sums.gg > 0)) return false;
      const float scale = sums.xg / sums.gg, cost = sums.CostAt(scale);
      if (!(cost < least)) return false;
      least = cost;
      wanted = scale;
      return true;
    };
    for (size_t trial = 0; trial < type_.trials; ++trial) consider(scales[trial]);
    for (int round = 0; round < kMostRounds && wanted > 0; ++round) {
      if (!consider(wanted)) break;
    }
    return wanted;
  }

  bool Consider(float scale) {
    GridBlock block{.scale = NearestHalf(scale)};
    if (!(block.scale > 0)) return false;
    double cost = 0;
    for (int j = 0; j < Groups(); ++j) {
      const float ratio = groups_[j].wanted / (block.scale * type_.unit);
      const int middle =
          static_cast<int>(std::clamp((ratio - 1) * 0.5f + 0.5f, 0.0f, static_cast<float>(type_.largest)));
      float least = std::numeric_limits<float>::infinity();
      for (int s = std::max(middle - 1, 0); s <= std::min(middle + 1, type_.largest); ++s) {
        const float group_scale = ScaleOf(block.scale, s);
        const Choice choice = ChooseAt(type_, groups_[j], group_scale);
        const float group_cost = choice.sums.CostAt(group_scale);
        if (!(group_cost < least)) continue;
        least = group_cost;
        block.scales[static_cast<size_t>(j)] = s;
        block.grids[static_cast<size_t>(j)] = choice.grid;
      }
      cost += static_cast<double>(least);
    }
    if (!(cost < least_cost_)) return false;
    least_cost_ = cost;
    best_ = block;
    return true;
  }

  // The scale of least squares for the chosen multiples and entries.
  float Solved() const {
    double xg = 0, gg = 0;
    for (int j = 0; j < Groups(); ++j) {
      const int s = best_.scales[static_cast<size_t>(j)];
      const Sums sums = SumsAt(groups_[j], best_.grids[static_cast<size_t>(j)], ScaleOf(best_.scale, s));
      const double multiple = static_cast<double>(type_.unit) * (2 * s + 1);
      xg += multiple * static_cast<double>(sums.xg);
      gg += multiple * multiple * static_cast<double>(sums.gg);
    }
    return gg > 0 ? static_cast<float>(xg / gg) : 0;
  }

  void PutGroup(int j, GridBlock& out) const {
    const Group& group = groups_[j];
    const auto grid = static_cast<size_t>(out.grids[static_cast<size_t>(j)]);
    const float scale = ScaleOf(out.scale, out.scales[static_cast<size_t>(j)]);
    for (int i = 0; i < group.entries; ++i) {
      const int at = j * type_.group + i * Places();
      const int index = group.lists[grid][static_cast<size_t>(i)].BestAt(scale).index;
      out.indices[static_cast<size_t>(at / Places())] = index;
      uint8_t signs = signs_[at / 8];
      if (Odd(at)) signs ^= static_cast<uint8_t>(1 << TurnedPlace(*type_.grids[grid], index, targets_ + at, w_ + at));
      out.signs[static_cast<size_t>(at / 8)] = signs;
    }
  }

  const GridType& type_;
  const float *x_, *w_;
  float targets_[kBlock];
  uint8_t signs_[32] = {};
  Group groups_[16];
  GridBlock best_;
  double least_cost_ = 0;  // of nothing but zeros, which a scale of 0 gives
};

}  // namespace

void FitGridBlock(const GridType& type, const float* x, const float* w, GridBlock& out) {
  BlockFitter(type, x, w).Fit(out);
}

}  // namespace inferd::quantize
