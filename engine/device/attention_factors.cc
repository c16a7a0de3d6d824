#include "engine/device/attention_factors.h"

#include "kernels/kernels.h"

namespace inferd::device {

std::vector<float> AlibiSlopes(const model::AttentionSpec& attention) {
  std::vector<float> slopes;
  if (attention.heads == 0 || attention.alibi_max_bias <= 0) return slopes;
  const int64_t heads = attention.heads;
  const double max_bias = attention.alibi_max_bias;
  int64_t power = 1;
  while (power * 2 <= heads) power *= 2;
  for (int64_t head = 0; head < heads; ++head) {
    const double exponent =
        head < power ? -max_bias / static_cast<double>(power) * static_cast<double>(head + 1)
                     : -max_bias / 2.0 / static_cast<double>(power) * static_cast<double>(2 * (head - power) + 1);
    slopes.push_back(static_cast<float>(kernels::exact::Pow(2.0, exponent)));
  }
  return slopes;
}

float TemperatureAt(const model::AttentionSpec& a, int64_t position) {
  const double steps = static_cast<double>((position + a.temperature_offset) / a.temperature_floor);
  return static_cast<float>(1.0 + static_cast<double>(a.temperature_scale) * kernels::exact::Log(steps + 1.0));
}

}  // namespace inferd::device
