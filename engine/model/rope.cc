// Computed with kernels/exact_math.h, so that every machine gets the same bits.
#include "engine/model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/kernels.h"

namespace inferd::model {
namespace {

namespace exact = kernels::exact;

// YaRN (arXiv 2309.00071, section 3.2): dimensions that turn often keep their frequency, those that turn less than once
// in the original context are slowed down by `factor`, and those between are mixed.
class YarnMix {
 public:
  explicit YarnMix(const RopeSpec& rope) : rope_(rope) {
    low_ = std::max(0.0, std::floor(DimensionThatTurns(rope.yarn_beta_fast)));
    high_ = std::min<double>(static_cast<double>(rope.rotated - 1), std::ceil(DimensionThatTurns(rope.yarn_beta_slow)));
  }

  double Apply(double frequency, int64_t pair) const {
    const double ramp = (static_cast<double>(pair) - low_) / std::max(0.001, high_ - low_);
    const double keep = (1.0 - std::clamp(ramp, 0.0, 1.0)) * rope_.yarn_extrapolation;
    return frequency / rope_.factor * (1.0 - keep) + frequency * keep;
  }

 private:
  double DimensionThatTurns(double times) const {
    const double wave = static_cast<double>(rope_.original_context) / (times * 2.0 * std::numbers::pi);
    return static_cast<double>(rope_.rotated) * exact::Log(wave) / (2.0 * exact::Log(rope_.base));
  }

  const RopeSpec& rope_;
  double low_, high_;
};

double YarnMagnitude(double factor, double multiplier) {
  return factor <= 1.0 ? 1.0 : 0.1 * multiplier * exact::Log(factor) + 1.0;
}

}  // namespace

RopeFrequencies FrequenciesOf(const RopeSpec& rope, int64_t context_tokens) {
  RopeFrequencies result;
  const bool is_long = context_tokens > rope.original_context;
  const std::vector<float>& factors = is_long ? rope.factors_long : rope.factors_short;
  const YarnMix mix(rope);
  for (int64_t pair = 0; pair < rope.rotated / 2; ++pair) {
    double frequency = exact::Pow(rope.base, -2.0 * static_cast<double>(pair) / static_cast<double>(rope.rotated));
    if (!factors.empty()) frequency /= static_cast<double>(factors[pair]);
    if (rope.scaling == RopeScaling::kYarn) {
      frequency = mix.Apply(frequency, pair);
    } else if (rope.scaling != RopeScaling::kNone) {
      frequency /= rope.factor;
    }
    result.inverse.push_back(frequency);
  }
  double magnitude = rope.attention_factor;
  if (rope.scaling == RopeScaling::kYarn && rope.yarn_extrapolation != 0) {
    magnitude *= YarnMagnitude(rope.factor, 1.0);
    if (rope.yarn_log_multiplier != 0) magnitude /= YarnMagnitude(rope.factor, rope.yarn_log_multiplier);
  }
  result.magnitude = static_cast<float>(magnitude);
  return result;
}

}  // namespace inferd::model
