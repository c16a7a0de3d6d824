#include "engine/model/architectures/common.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "config/base/status.h"

namespace inferd::model {
namespace {

constexpr int64_t kMostLayers = 1024;
constexpr int64_t kWidest = 1 << 20;

int64_t VocabularySize(Metadata& m) {
  const gguf::Entry* tokens = m.file().Find("tokenizer.ggml.tokens");
  if (tokens == nullptr) return m.Count("vocab_size");
  absl::StatusOr<std::span<const std::string_view>> list = m.file().GetStrings("tokenizer.ggml.tokens");
  m.FailAsRead(list.status());
  if (list.ok() && list->empty()) m.Fail(InvalidArgument("tokenizer.ggml.tokens: empty"));
  if (list.ok() && m.Has("vocab_size") && m.Count("vocab_size") != static_cast<int64_t>(list->size())) {
    m.Fail(InvalidArgument("{}.vocab_size: {}, expected {} as there are tokenizer.ggml.tokens", m.architecture(),
                           m.Count("vocab_size"), list->size()));
  }
  return list.ok() ? std::max<int64_t>(static_cast<int64_t>(list->size()), 1) : 1;
}

// The divisors of RoPE frequencies in a tensor; empty if the file has none of that name.
std::vector<float> Factors(Metadata& m, std::string_view name, int64_t rotated) {
  const gguf::Tensor* tensor = m.file().FindTensor(name);
  if (tensor == nullptr) return {};
  if (tensor->type != kernels::TensorType::kF32 || static_cast<int64_t>(tensor->elements()) != rotated / 2) {
    m.Fail(InvalidArgument("tensor {}: expected {} f32 elements", name, rotated / 2));
    return {};
  }
  const float* values = reinterpret_cast<const float*>(tensor->data);
  std::vector<float> factors(values, values + tensor->elements());
  for (float& factor : factors) {
    if (!(factor > 0) || !std::isfinite(factor)) {
      m.Fail(InvalidArgument("tensor {}: factor {} is not a positive number", name, factor));
      factor = 1;
    }
  }
  return factors;
}

Pooling ReadPooling(Metadata& m, std::string_view key, Pooling fallback) {
  if (!m.Has(key)) return fallback;
  const absl::StatusOr<int64_t> stated = m.file().GetInt(fmt::format("{}.{}", m.architecture(), key));
  if (stated.ok() && (*stated == -1 || *stated == 0xFFFFFFFF)) {  // "unspecified"
    m.Warn(fmt::format("{}.{}: {} says nothing, the family's own is taken", m.architecture(), key, *stated));
    return fallback;
  }
  switch (m.CountOr(key, 0)) {
    case 0:
      return Pooling::kNone;
    case 1:
      return Pooling::kMean;
    case 2:
      return Pooling::kCls;
    case 3:
      return Pooling::kLast;
    case 4:
      return Pooling::kRank;
  }
  m.Fail(Unimplemented("{}.{}: unknown, expected 0..4", m.architecture(), key));
  return fallback;
}

// A decoder's last token has seen the whole text, an encoder's first one stands for it.
RankSpec ReadRank(Metadata& m, bool encoder) {
  RankSpec rank;
  rank.of = ReadPooling(m, "classifier.pooling_type", encoder ? Pooling::kCls : Pooling::kLast);
  if (m.Has("classifier.output_labels")) {
    absl::StatusOr<std::span<const std::string_view>> labels =
        m.file().GetStrings(m.architecture() + ".classifier.output_labels");
    m.FailAsRead(labels.status());
    if (labels.ok()) rank.classes = std::clamp<int64_t>(static_cast<int64_t>(labels->size()), 1, 1 << 16);
  }
  return rank;
}

RopeScaling ReadScaling(Metadata& m) {
  const std::string type = m.TextOr("rope.scaling.type", "linear");
  if (type == "none") return RopeScaling::kNone;
  if (type == "linear") return RopeScaling::kLinear;
  if (type == "yarn") return RopeScaling::kYarn;
  if (type == "longrope") return RopeScaling::kLongRope;
  m.Fail(
      Unimplemented("{}.rope.scaling.type: \"{}\", expected none, linear, yarn or longrope", m.architecture(), type));
  return RopeScaling::kNone;
}

}  // namespace

DecoderSpec CommonDecoder(Metadata& m, NormKind norm) {
  DecoderSpec spec;
  spec.architecture = m.architecture();
  spec.vocabulary_size = VocabularySize(m);
  spec.width = m.Count("embedding_length", kWidest);
  spec.context_length = m.Count("context_length");
  spec.norm = {norm, static_cast<float>(m.Real(norm == NormKind::kRms ? "attention.layer_norm_rms_epsilon"
                                                                      : "attention.layer_norm_epsilon"))};
  const int64_t blocks = m.Count("block_count", kMostLayers);
  spec.encoder = !m.FlagOr("attention.causal", true);
  spec.pooling = ReadPooling(m, "pooling_type", Pooling::kNone);
  spec.rank = ReadRank(m, spec.encoder);
  spec.ignored_layers = std::min(m.CountOr("nextn_predict_layers", 0), blocks - 1);
  const int64_t layers = blocks - spec.ignored_layers;
  const std::vector<int64_t> heads = m.CountPerLayer("attention.head_count", layers, 0);
  const std::vector<int64_t> kv_heads =
      m.Has("attention.head_count_kv") ? m.CountPerLayer("attention.head_count_kv", layers, 0) : heads;
  const std::vector<int64_t> widths = m.CountPerLayer("feed_forward_length", layers, 0);
  const int64_t most_heads = *std::max_element(heads.begin(), heads.end());
  const int64_t natural = most_heads > 0 ? spec.width / most_heads : 0;
  for (int64_t i = 0; i < layers; ++i) {
    LayerSpec layer;
    layer.attention.heads = heads[i];
    layer.attention.kv_heads = kv_heads[i];
    layer.attention.k_dim = m.CountOr("attention.key_length", natural, kWidest);
    layer.attention.v_dim = m.CountOr("attention.value_length", natural, kWidest);
    layer.attention.rope = -1;
    layer.feed_forward.width = widths[i];
    spec.layers.push_back(layer);
  }
  return spec;
}

RopeSpec ReadRope(Metadata& m, const DecoderSpec& spec, RopePairing pairing) {
  RopeSpec rope;
  rope.pairing = pairing;
  int64_t k_dim = 0;
  for (const LayerSpec& layer : spec.layers)
    k_dim = std::max(k_dim, layer.attention.heads > 0 ? layer.attention.k_dim : 0);
  rope.rotated = m.CountOr("rope.dimension_count", k_dim);
  rope.base = m.RealOr("rope.freq_base", 10000.0);
  rope.scaling = ReadScaling(m);
  const double factor = m.RealOr("rope.scaling.factor", m.RealOr("rope.scale_linear", 1.0));
  rope.factor = factor == 0 ? 1.0 : factor;
  rope.original_context = m.CountOr("rope.scaling.original_context_length", spec.context_length);
  rope.attention_factor = m.RealOr("rope.scaling.attn_factor", 1.0);
  rope.yarn_extrapolation = m.RealOr("rope.scaling.yarn_ext_factor", 1.0);
  rope.yarn_beta_fast = m.RealOr("rope.scaling.yarn_beta_fast", 32.0);
  rope.yarn_beta_slow = m.RealOr("rope.scaling.yarn_beta_slow", 1.0);
  rope.yarn_log_multiplier = m.RealOr("rope.scaling.yarn_log_multiplier", 0.0);
  rope.factors_short = Factors(m, "rope_factors_short.weight", rope.rotated);
  rope.factors_long = Factors(m, "rope_factors_long.weight", rope.rotated);
  if (rope.factors_short.empty() && rope.factors_long.empty()) {
    rope.factors_short = rope.factors_long = Factors(m, "rope_freqs.weight", rope.rotated);
  }
  return rope;
}

void AddRope(Metadata& m, DecoderSpec& spec, RopePairing pairing) {
  spec.ropes.push_back(ReadRope(m, spec, pairing));
  ForEachLayer(spec, [&](LayerSpec& layer) { layer.attention.rope = static_cast<int32_t>(spec.ropes.size()) - 1; });
}

Gating ReadGating(Metadata& m, Gating fallback) {
  switch (m.CountOr("expert_gating_func", 0)) {
    case 0:
      return fallback;
    case 1:
      return Gating::kSoftmax;
    case 2:
      return Gating::kSigmoid;
    case 3:
      return Gating::kSoftmaxOfChosen;
  }
  m.Fail(Unimplemented("{}.expert_gating_func: unknown, expected 1, 2 or 3", m.architecture()));
  return fallback;
}

void AddExperts(Metadata& m, DecoderSpec& spec, int64_t first) {
  const int64_t count = m.CountOr("expert_count", 0, kernels::kMaximumExperts);
  if (count == 0) return;
  const std::vector<int64_t> widths =
      m.CountPerLayer("expert_feed_forward_length", static_cast<int64_t>(spec.layers.size()), 0);
  const int64_t used = m.Count("expert_used_count", count);
  const int64_t groups = m.CountOr("expert_group_count", 1, count),
                groups_used = m.CountOr("expert_group_used_count", 1, count);
  for (size_t i = first; i < spec.layers.size(); ++i) {
    FeedForwardSpec& f = spec.layers[i].feed_forward;
    f.experts.count = count;
    f.experts.used = used;
    f.experts.width = std::min(widths[i] > 0 ? widths[i] : f.width, kWidest);
    f.experts.groups = groups;
    f.experts.groups_used = groups_used;
  }
}

void AddSharedExperts(Metadata& m, DecoderSpec& spec, Gating gating) {
  AddExperts(m, spec, m.CountOr("leading_dense_block_count", 0));
  const int64_t shared = m.CountOr("expert_shared_count", 0, kernels::kMaximumExperts);
  const float scale = FactorOr(m, "expert_weights_scale", 1);
  const bool normalize = m.FlagOr("expert_weights_norm", false);
  ForEachExpertLayer(spec, [&](ExpertSpec& experts) {
    experts.gating = gating;
    experts.normalize = normalize;
    experts.weight_scale = scale;
    experts.shared_width = experts.width * shared;
  });
}

RecurrentSpec ReadMixer(Metadata& m, RecurrentKind kind) {
  return {.kind = kind,
          .inner = m.Count("ssm.inner_size", kWidest),
          .convolution = m.Count("ssm.conv_kernel", 64),
          .state = m.Count("ssm.state_size", 65536),
          .heads = m.Count("ssm.time_step_rank", kWidest),
          .groups = kind == RecurrentKind::kMamba ? 1 : m.Count("ssm.group_count", 65536)};
}

void AddWindows(Metadata& m, DecoderSpec& spec, int64_t window, int64_t default_period, FullLayer full) {
  if (window == 0) return;
  const gguf::Entry* entry = m.file().Find(m.architecture() + ".attention.sliding_window_pattern");
  const bool flags = entry != nullptr && std::holds_alternative<gguf::Array>(entry->value);
  std::vector<int64_t> pattern;
  int64_t period = default_period;
  if (flags) {
    pattern = m.CountPerLayer("attention.sliding_window_pattern", static_cast<int64_t>(spec.layers.size()), 0);
  } else {
    period = m.CountOr("attention.sliding_window_pattern", default_period);
  }
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const int64_t place = period > 0 ? static_cast<int64_t>(i) % period : 0;
    const bool sees_all = period == 0 || (period > 1 && place == (full == FullLayer::kLastOfPeriod ? period - 1 : 0));
    if (flags ? pattern[i] != 0 : !sees_all) spec.layers[i].attention.window = window;
  }
}

void UseLocalRope(Metadata& m, DecoderSpec& spec, double base, bool scaled) {
  RopeSpec local = spec.ropes.front();
  local.base = m.RealOr("rope.freq_base_swa", base);
  if (!scaled) {
    local.scaling = RopeScaling::kNone;
    local.attention_factor = 1;
    local.factors_short.clear();
    local.factors_long.clear();
  }
  spec.ropes.push_back(local);
  ForEachLayer(spec, [](LayerSpec& layer) {
    if (layer.attention.window > 0) layer.attention.rope = 1;
  });
}

void UsePlainFeedForward(DecoderSpec& spec, Activation activation) {
  ForEachLayer(spec, [&](LayerSpec& layer) {
    layer.feed_forward.gated = false;
    layer.feed_forward.activation = activation;
  });
}

bool HasTensor(const Metadata& m, std::string_view name) { return m.file().FindTensor(name) != nullptr; }

std::vector<float> NumbersPerLayer(Metadata& m, std::string_view whole_key, int64_t layers) {
  const gguf::Entry* entry = m.file().Find(whole_key);
  if (entry == nullptr || !std::holds_alternative<gguf::Array>(entry->value)) {
    const absl::StatusOr<double> value = m.file().GetFloat(whole_key);
    m.FailAsRead(entry == nullptr ? InvalidArgument("{}", MessageOf(value.status())) : value.status());
    return std::vector<float>(layers, value.ok() ? static_cast<float>(*value) : 0.0f);
  }
  absl::StatusOr<std::vector<float>> values = m.file().GetFloats(whole_key);
  m.FailAsRead(values.status());
  if (values.ok() && static_cast<int64_t>(values->size()) < layers) {
    m.Fail(InvalidArgument("{}: {} elements, expected one for each of {} layers", whole_key, values->size(), layers));
  }
  std::vector<float> numbers = values.ok() ? *std::move(values) : std::vector<float>();
  numbers.resize(layers);
  return numbers;
}

absl::Status NeedsExperts(const Metadata& m) {
  return InvalidArgument("{}.expert_count: 0 or missing, expected experts", m.architecture());
}

float FactorOr(Metadata& m, std::string_view key, double fallback) {
  const double value = m.RealOr(key, fallback);
  return static_cast<float>(value == 0 ? fallback : value);
}

int64_t TokenTypeCount(Metadata& m) {
  absl::StatusOr<uint64_t> count = m.file().GetUint("tokenizer.ggml.token_type_count");
  m.FailAsRead(count.status());
  return count.ok() ? static_cast<int64_t>(std::clamp<uint64_t>(*count, 1, 1 << 20)) : 1;
}

absl::Status Inconsistent(const Metadata& m, std::string_view key, std::string_view other) {
  return InvalidArgument("{}.{} does not fit {}.{}", m.architecture(), key, m.architecture(), other);
}

absl::Status UnknownText(const Metadata& m, std::string_view key, std::string_view value, std::string_view expected) {
  return Unimplemented("{}.{}: \"{}\", expected {}", m.architecture(), key, value, expected);
}

}  // namespace inferd::model
