#include "engine/model/spec_check.h"

#include <algorithm>
#include <string>

#include "config/base/status.h"

namespace inferd::model {
namespace {

constexpr int64_t kLargestRow = int64_t{1} << 24;  // elements of one activation row

absl::Status CheckAttention(const DecoderSpec& spec, const AttentionSpec& a, const std::string& where) {
  if (a.heads == 0) return absl::OkStatus();
  if (a.kv_heads == 0 || a.heads % a.kv_heads != 0) {
    return InvalidArgument("{}: attention.head_count {} is not a multiple of head_count_kv {}", where, a.heads,
                           a.kv_heads);
  }
  if (a.k_dim < 1 || a.v_dim < 1 || a.heads > kLargestRow / a.k_dim || a.heads > kLargestRow / a.v_dim) {
    return InvalidArgument(
        "{}: attention.head_count {} with key_length {} and value_length {}, expected 1 or more and rows of at most {}",
        where, a.heads, a.k_dim, a.v_dim, kLargestRow);
  }
  if (a.rope < 0) return absl::OkStatus();
  const int64_t rotated = spec.ropes[a.rope].rotated;
  const int64_t available = a.latent.kv_rank > 0 ? a.latent.rope_dim : a.k_dim;
  if (rotated < 2 || rotated % 2 != 0 || rotated > available) {
    return InvalidArgument("{}: rope.dimension_count {} is not an even number in 2..{}", where, rotated, available);
  }
  return absl::OkStatus();
}

absl::Status CheckFeedForward(const FeedForwardSpec& f, const std::string& where) {
  const ExpertSpec& e = f.experts;
  if (f.width > kLargestRow || e.width > kLargestRow || e.shared_width > kLargestRow) {
    return InvalidArgument("{}: feed-forward width {} is larger than {}", where,
                           std::max({f.width, e.width, e.shared_width}), kLargestRow);
  }
  if (e.count == 0) return absl::OkStatus();
  if (e.width == 0) return InvalidArgument("{}: expert_feed_forward_length: missing", where);
  if (e.used < 1 || e.used > e.count) {
    return InvalidArgument("{}: expert_used_count {} of expert_count {}", where, e.used, e.count);
  }
  if (e.groups > 1 && (e.count % e.groups != 0 || e.groups_used < 1 || e.groups_used > e.groups ||
                       e.count / e.groups * e.groups_used < e.used)) {
    return InvalidArgument("{}: {} of {} expert groups for {} of {} experts", where, e.groups_used, e.groups, e.used,
                           e.count);
  }
  return absl::OkStatus();
}

absl::Status CheckRecurrent(const RecurrentSpec& r, const std::string& where) {
  if (r.kind == RecurrentKind::kNone) return absl::OkStatus();
  if (r.convolution < 2 || r.inner < 1 || r.inner > kLargestRow) {
    return InvalidArgument("{}: recurrent mixer of width {} with {} convolution taps", where, r.inner, r.convolution);
  }
  if (r.kind == RecurrentKind::kShortConvolution) return absl::OkStatus();
  const bool grouped = r.kind != RecurrentKind::kMamba;
  if (r.state < 1 || r.state > 65536 || r.heads < 1 || r.heads > kLargestRow ||
      (grouped && (r.groups < 1 || r.heads % r.groups != 0 || r.inner % r.heads != 0 || r.inner % r.groups != 0))) {
    return InvalidArgument("{}: recurrent mixer of width {} with {} heads, {} groups and state {}", where, r.inner,
                           r.heads, r.groups, r.state);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSpec(const DecoderSpec& spec) {
  if (!(spec.norm.epsilon >= 0)) {
    return InvalidArgument(
        "{}: {} {}, expected 0 or more", spec.architecture,
        spec.norm.kind == NormKind::kRms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon",
        spec.norm.epsilon);
  }
  for (const RopeSpec& rope : spec.ropes) {
    if (!(rope.base > 0) || !(rope.factor > 0) || rope.original_context < 1) {
      return InvalidArgument(
          "{}: rope.freq_base {}, rope.scaling.factor {} and original_context_length {} must be positive",
          spec.architecture, rope.base, rope.factor, rope.original_context);
    }
  }
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const LayerSpec& layer = spec.layers[i];
    const std::string where = fmt::format("{}: layer {}", spec.architecture, i);
    RETURN_IF_ERROR(CheckAttention(spec, layer.attention, where));
    RETURN_IF_ERROR(CheckFeedForward(layer.feed_forward, where));
    RETURN_IF_ERROR(CheckRecurrent(layer.recurrent, where));
    if (layer.attention.heads == 0 && layer.recurrent.kind == RecurrentKind::kNone && layer.feed_forward.width == 0) {
      return InvalidArgument("{}: neither attention nor a recurrent mixer nor a feed-forward network", where);
    }
  }
  return absl::OkStatus();
}

}  // namespace inferd::model
