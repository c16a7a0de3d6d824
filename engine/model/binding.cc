#include "engine/model/binding.h"

#include <algorithm>
#include <string>

#include "config/base/status.h"
#include "engine/model/tensor_binder.h"

namespace inferd::model {
namespace {

// Binds one block; `prefix` is "blk.N.".
class LayerBinder {
 public:
  LayerBinder(TensorBinder& binder, const DecoderSpec& spec, const LayerSpec& layer, int64_t index)
      : binder_(binder), spec_(spec), layer_(layer), prefix_(fmt::format("blk.{}.", index)) {}

  LayerWeights Bind() {
    LayerWeights weights;
    const NormPlaces& places = spec_.norm_places;
    const int64_t width = spec_.width;
    if (layer_.norm_before_mixer) weights.before_mixer = NormAt(places.before_mixer, width);
    for (std::string_view unused : spec_.unused_tensors) binder_.Ignore(Name(unused));
    weights.after_mixer = NormAt(places.after_mixer, width);
    weights.after_mixer_sum = NormAt(places.after_mixer_sum, width);
    if (layer_.attention.heads > 0) weights.attention = Attention(weights);
    if (spec_.layer_input_width > 0) weights.layer_input = LayerInput();
    if (spec_.altup.streams > 0) weights.altup = Altup();
    weights.output_scale = binder_.VectorIfPresent(Name("layer_output_scale.weight"), 1);
    if (layer_.recurrent.kind != RecurrentKind::kNone) weights.recurrent = Recurrent();
    if (layer_.feed_forward.width > 0 || layer_.feed_forward.experts.count > 0) {
      weights.before_feed_forward = NormAt(places.before_feed_forward, width);
      weights.inside_feed_forward = NormAt(places.inside_feed_forward, layer_.feed_forward.width);
      weights.after_feed_forward = NormAt(places.after_feed_forward, width);
      weights.after_feed_forward_sum = NormAt(places.after_feed_forward_sum, width);
      weights.feed_forward = FeedForward();
    }
    return weights;
  }

 private:
  Norm NormAt(std::string_view name, int64_t n) {
    return name.empty() ? Norm{} : binder_.NormOf(Name(name), n, spec_.norm, spec_.norm_weights_required);
  }
  std::string Name(std::string_view name) const { return fmt::format("{}{}", prefix_, name); }

  AttentionWeights Attention(LayerWeights& weights) {
    const AttentionSpec& a = layer_.attention;
    AttentionWeights w;
    if (a.latent.kv_rank > 0) {
      Latent(w);
    } else {
      const int64_t q_rows = a.heads * a.k_dim * (a.gated_output ? 2 : 1);
      const int64_t k_rows = a.kv_heads * a.k_dim, v_rows = a.kv_heads * a.v_dim;
      if (binder_.Has(Name("attn_qkv.weight"))) {
        const Linear qkv = binder_.Matrix(Name("attn_qkv"), spec_.width, q_rows + k_rows + v_rows, a.qkv_bias);
        w.q = RowsOf(qkv, 0, q_rows);
        w.k = RowsOf(qkv, q_rows, k_rows);
        w.v = RowsOf(qkv, q_rows + k_rows, v_rows);
      } else {
        w.q = binder_.Matrix(Name("attn_q"), spec_.width, q_rows, a.qkv_bias);
        if (a.kv_of < 0) {
          w.k = binder_.Matrix(Name("attn_k"), spec_.width, k_rows, a.qkv_bias);
          const bool own = !a.values_from_keys || binder_.Has(Name("attn_v.weight"));
          w.v = own ? binder_.Matrix(Name("attn_v"), spec_.width, v_rows, a.qkv_bias) : w.k;
        }
      }
      w.q_norm = HeadNorm("attn_q_norm", a.k_dim, a.heads);
      if (a.kv_of < 0) w.k_norm = HeadNorm("attn_k_norm", a.k_dim, a.kv_heads);
    }
    if (a.kv_of >= 0) {  // some files hold what the layer does not use
      binder_.Ignore(Name("attn_k"));
      binder_.Ignore(Name("attn_v"));
    }
    const int64_t out_width = a.heads * (a.latent.kv_rank > 0 ? a.latent.v_dim : a.v_dim);
    w.output = binder_.Matrix(Name("attn_output"), out_width, spec_.width, a.output_bias);
    weights.inside_mixer = NormAt(spec_.norm_places.inside_mixer, out_width);
    if (a.gate_tensor != GateTensor::kNone) {
      w.gate =
          binder_.Matrix(Name("attn_gate"), spec_.width, a.gate_tensor == GateTensor::kHeads ? a.heads : out_width);
    }
    if (a.sinks) w.sinks = binder_.Vector(Name("attn_sinks.weight"), a.heads);
    return w;
  }

  Norm HeadNorm(std::string_view name, int64_t dim, int64_t heads) {
    const AttentionSpec& a = layer_.attention;
    if (a.qk_norm == QkNorm::kNone) return {};
    if (a.qk_norm == QkNorm::kPlain) return {.present = true, .kind = a.qk_norm_kind, .epsilon = spec_.norm.epsilon};
    const int64_t n = a.qk_norm == QkNorm::kShared ? dim : dim * heads;
    return binder_.NormOf(Name(name), n, {a.qk_norm_kind, spec_.norm.epsilon}, true);
  }

  void Latent(AttentionWeights& w) {
    const AttentionSpec& a = layer_.attention;
    const LatentSpec& l = a.latent;
    const int64_t q_rows = a.heads * (l.nope_dim + l.rope_dim);
    if (l.q_rank > 0) {
      w.q_a = binder_.Matrix(Name("attn_q_a"), spec_.width, l.q_rank);
      w.q_a_norm = binder_.NormOf(Name("attn_q_a_norm"), l.q_rank, spec_.norm, true);
      w.q_b = binder_.Matrix(Name("attn_q_b"), l.q_rank, q_rows);
    } else {
      w.q = binder_.Matrix(Name("attn_q"), spec_.width, q_rows);
    }
    w.kv_a = binder_.Matrix(Name("attn_kv_a_mqa"), spec_.width, l.kv_rank + l.rope_dim);
    w.kv_a_norm = binder_.NormOf(Name("attn_kv_a_norm"), l.kv_rank, spec_.norm, true);
    if (l.absorbed) {
      w.k_b = binder_.Matrix(Name("attn_k_b"), l.nope_dim, a.heads * l.kv_rank);
      w.v_b = binder_.Matrix(Name("attn_v_b"), l.kv_rank, a.heads * l.v_dim);
    } else {
      w.kv_b = binder_.Matrix(Name("attn_kv_b"), l.kv_rank, a.heads * (l.nope_dim + l.v_dim));
    }
  }

  FeedForwardWeights FeedForward() {
    const FeedForwardSpec& f = layer_.feed_forward;
    if (f.experts.count > 0) return Experts();
    FeedForwardWeights w;
    if (f.gated && f.fused_gate_up) {
      const Linear both = binder_.Matrix(Name("ffn_up"), spec_.width, 2 * f.width, f.bias);
      w.gate = RowsOf(both, 0, f.width);
      w.up = RowsOf(both, f.width, f.width);
    } else {
      if (f.gated) w.gate = binder_.Matrix(Name("ffn_gate"), spec_.width, f.width, f.bias);
      w.up = binder_.Matrix(Name("ffn_up"), spec_.width, f.width, f.bias);
    }
    w.down = binder_.Matrix(Name("ffn_down"), f.width, spec_.width, f.bias);
    if (!f.gated) w.activation_divisor = binder_.VectorIfPresent(Name("ffn.act.scales"), f.width);
    return w;
  }

  FeedForwardWeights Experts() {
    const FeedForwardSpec& f = layer_.feed_forward;
    const ExpertSpec& e = f.experts;
    FeedForwardWeights w;
    if (e.router_input == RouterInput::kScaledNorm) {
      w.router = binder_.MatrixAlone(Name("ffn_gate_inp"), spec_.width, e.count);
      w.router_scale = binder_.Vector(Name("ffn_gate_inp.scale"), spec_.width);
    } else {
      w.router = binder_.Matrix(Name("ffn_gate_inp"), spec_.width, e.count, f.bias);
    }
    w.before_experts = NormAt(spec_.norm_places.before_experts, spec_.width);
    w.after_experts = NormAt(spec_.norm_places.after_experts, spec_.width);
    w.after_shared = NormAt(spec_.norm_places.after_shared, spec_.width);
    const bool ends = binder_.Has(Name("exp_probs_b.bias"));  // Hy3's has no ending
    w.selection_bias = binder_.VectorIfPresent(Name(ends ? "exp_probs_b.bias" : "exp_probs_b"), e.count);
    if (binder_.Has(Name("ffn_gate_up_exps.weight"))) {
      const ExpertLinear both = binder_.Experts(Name("ffn_gate_up_exps"), spec_.width, 2 * e.width, e.count, f.bias);
      w.expert_gate = HalfOf(both, 0);
      w.expert_up = HalfOf(both, e.width);
    } else {
      if (f.gated) w.expert_gate = binder_.Experts(Name("ffn_gate_exps"), spec_.width, e.width, e.count, f.bias);
      w.expert_up = binder_.Experts(Name("ffn_up_exps"), spec_.width, e.width, e.count, f.bias);
    }
    w.expert_down = binder_.Experts(Name("ffn_down_exps"), e.width, spec_.width, e.count, f.bias);
    if (e.shared_width > 0) {
      if (e.shared_gate) w.shared_router = binder_.Matrix(Name("ffn_gate_inp_shexp"), spec_.width, 1);
      const std::string_view end = e.shared_is_dense ? "" : "_shexp";
      const auto name = [&](std::string_view part) { return fmt::format("{}{}{}", prefix_, part, end); };
      if (f.gated) w.shared_gate = binder_.Matrix(name("ffn_gate"), spec_.width, e.shared_width);
      w.shared_up = binder_.Matrix(name("ffn_up"), spec_.width, e.shared_width);
      w.shared_down = binder_.Matrix(name("ffn_down"), e.shared_width, spec_.width);
    }
    return w;
  }

  LayerInputWeights LayerInput() {
    LayerInputWeights w;
    w.gate = binder_.Matrix(Name("inp_gate"), spec_.width, spec_.layer_input_width);
    w.projection = binder_.Matrix(Name("proj"), spec_.layer_input_width, spec_.width);
    w.norm = NormAt("post_norm", spec_.width);
    return w;
  }

  AltupWeights Altup() {
    const int64_t n = spec_.altup.streams, rank = spec_.altup.rank;
    AltupWeights w;
    w.router = binder_.Matrix(Name("altup_router"), spec_.width, n);
    w.router_norm = NormAt("altup_router_norm", spec_.width);
    w.predict = binder_.Vector(Name("altup_predict_coef.weight"), n * n * n);
    w.correct = binder_.Vector(Name("altup_correct_coef.weight"), n * n);
    w.correct_scale = binder_.Vector(Name("altup_correct_scale.weight"), spec_.width);
    w.laurel_left = binder_.Matrix(Name("laurel_l"), spec_.width, rank);
    w.laurel_right = binder_.Matrix(Name("laurel_r"), rank, spec_.width);
    w.laurel_norm = NormAt("laurel_post_norm", spec_.width);
    return w;
  }

  static ExpertLinear HalfOf(const ExpertLinear& both, int64_t row_begin) {
    ExpertLinear half = both;
    if (!both) return half;
    half.weights.data = static_cast<const uint8_t*>(both.weights.data) + row_begin * both.weights.row_bytes;
    half.weights.rows = both.weights.rows / 2;
    if (both.bias != nullptr) half.bias = both.bias + row_begin;
    half.bias_stride = both.weights.rows;
    return half;
  }

  RecurrentWeights Recurrent() {
    const RecurrentSpec& r = layer_.recurrent;
    switch (r.kind) {
      case RecurrentKind::kShortConvolution:
        return ShortConvolution(r);
      case RecurrentKind::kMamba:
        return Mamba(r);
      case RecurrentKind::kMamba2:
        return Mamba2(r);
      case RecurrentKind::kGatedDeltaNet:
        return DeltaNet(r);
      case RecurrentKind::kNone:
        break;
    }
    return {};
  }

  RecurrentWeights ShortConvolution(const RecurrentSpec& r) {
    RecurrentWeights w;
    w.in = binder_.Matrix(Name("shortconv.in_proj"), spec_.width, 3 * r.inner);
    w.convolution = binder_.Transposed(Name("shortconv.conv.weight"), r.inner, r.convolution);
    w.out = binder_.Matrix(Name("shortconv.out_proj"), r.inner, spec_.width);
    return w;
  }

  RecurrentWeights Mamba(const RecurrentSpec& r) {
    RecurrentWeights w;
    w.in = binder_.Matrix(Name("ssm_in"), spec_.width, 2 * r.inner);
    w.convolution = binder_.Transposed(Name("ssm_conv1d.weight"), r.inner, r.convolution);
    w.convolution_bias = binder_.Vector(Name("ssm_conv1d.bias"), r.inner);
    w.x = binder_.Matrix(Name("ssm_x"), r.inner, r.heads + 2 * r.state);
    w.dt = binder_.Matrix(Name("ssm_dt"), r.heads, r.inner, Bias::kRequired);
    w.a = binder_.Transposed(Name("ssm_a"), r.inner, r.state);
    w.d = binder_.Vector(Name("ssm_d"), r.inner);
    w.out = binder_.Matrix(Name("ssm_out"), r.inner, spec_.width);
    if (r.norm_dt_b_c) {
      w.dt_norm = binder_.NormOf(Name("ssm_dt_norm"), r.heads, spec_.norm, false);
      w.b_norm = binder_.NormOf(Name("ssm_b_norm"), r.state, spec_.norm, false);
      w.c_norm = binder_.NormOf(Name("ssm_c_norm"), r.state, spec_.norm, false);
    }
    return w;
  }

  RecurrentWeights Mamba2(const RecurrentSpec& r) {
    const int64_t channels = r.inner + 2 * r.groups * r.state;
    RecurrentWeights w;
    w.in = binder_.Matrix(Name("ssm_in"), spec_.width, r.inner + channels + r.heads);
    w.convolution = binder_.Transposed(Name("ssm_conv1d.weight"), channels, r.convolution);
    w.convolution_bias = binder_.VectorIfPresent(Name("ssm_conv1d.bias"), channels);
    w.dt_bias = binder_.Vector(Name("ssm_dt.bias"), r.heads);
    w.a = binder_.Vector(Name("ssm_a"), r.heads);
    w.d = binder_.Vector(Name("ssm_d"), r.heads);
    if (r.norm) w.norm = binder_.NormOf(Name("ssm_norm"), r.inner, spec_.norm, true);
    w.out = binder_.Matrix(Name("ssm_out"), r.inner, spec_.width);
    return w;
  }

  RecurrentWeights DeltaNet(const RecurrentSpec& r) {
    const int64_t channels = 2 * r.groups * r.state + r.inner;
    RecurrentWeights w;
    w.in = binder_.Matrix(Name("attn_qkv"), spec_.width, channels);
    w.gate = binder_.Matrix(Name("attn_gate"), spec_.width, r.inner);
    if (binder_.Has(Name("ssm_ba.weight"))) {
      w.beta_alpha = binder_.Matrix(Name("ssm_ba"), spec_.width, 2 * r.heads);
    } else {
      w.alpha = binder_.Matrix(Name("ssm_alpha"), spec_.width, r.heads);
      w.beta = binder_.Matrix(Name("ssm_beta"), spec_.width, r.heads);
    }
    w.convolution = binder_.Transposed(Name("ssm_conv1d.weight"), channels, r.convolution);
    w.convolution_bias = binder_.VectorIfPresent(Name("ssm_conv1d.bias"), channels);
    w.dt_bias = binder_.Vector(Name("ssm_dt.bias"), r.heads);
    w.a = binder_.Vector(Name("ssm_a"), r.heads);
    w.norm = binder_.NormOf(Name("ssm_norm"), r.inner / r.heads, spec_.norm, true);
    w.out = binder_.Matrix(Name("ssm_out"), r.inner, spec_.width);
    return w;
  }

  TensorBinder& binder_;
  const DecoderSpec& spec_;
  const LayerSpec& layer_;
  std::string prefix_;
};

void BindHead(TensorBinder& binder, const DecoderSpec& spec, ModelWeights& weights) {
  if (binder.Has("cls.weight")) weights.rank_dense = binder.Matrix("cls", spec.width, spec.width);
  if (binder.Has("cls.norm.weight")) weights.rank_norm = binder.NormOf("cls.norm", spec.width, spec.norm, true);
  if (binder.Has("cls.output.weight")) weights.rank_output = binder.Matrix("cls.output", spec.width, spec.rank.classes);
  if (spec.encoder) return;
  if (binder.Has("output.weight")) {
    weights.head = binder.Matrix("output", spec.width, spec.vocabulary_size);
  } else {
    weights.head = weights.embedding;
    weights.head.bias = binder.VectorIfPresent("output.bias", spec.vocabulary_size);
  }
}

// Tables that the layers' own embeddings and the further streams start and end with.
void BindExtras(TensorBinder& binder, const DecoderSpec& spec, ModelWeights& weights) {
  if (spec.layer_input_width > 0) {
    const int64_t all = spec.layer_input_width * static_cast<int64_t>(spec.layers.size());
    weights.layer_embedding = binder.Matrix("per_layer_token_embd", all, spec.vocabulary_size);
    weights.layer_projection = binder.Matrix("per_layer_model_proj", spec.width, all);
    weights.layer_projection_norm = binder.NormOf("per_layer_proj_norm", spec.layer_input_width, spec.norm, true);
  }
  if (spec.altup.streams > 0) {
    const int64_t further = spec.width * (spec.altup.streams - 1);
    weights.altup_projection = binder.Matrix("altup_proj", spec.width, further);
    weights.altup_merge = binder.Matrix("altup_unembd_proj", spec.width, further);
  }
}

}  // namespace

absl::Status BindWeights(const gguf::GgufFile& file, const DecoderSpec& spec, ModelWeights& weights,
                         std::vector<std::string>& warnings) {
  TensorBinder binder(file, weights);
  weights.embedding = binder.Matrix("token_embd", spec.width, spec.vocabulary_size);
  if (spec.learned_positions) weights.positions = binder.Matrix("position_embd", spec.width, spec.context_length);
  if (spec.token_types > 0) weights.token_types = binder.Matrix("token_types", spec.width, spec.token_types);
  if (spec.embedding_norm) {
    weights.embedding_norm = binder.NormOf("token_embd_norm", spec.width, spec.norm, spec.norm_weights_required);
  }
  weights.output_norm = binder.NormOf(std::string(spec.output_norm), spec.width, spec.norm, spec.norm_weights_required);
  BindHead(binder, spec, weights);
  BindExtras(binder, spec, weights);
  for (size_t i = 0; i < spec.layers.size() && binder.ok(); ++i) {
    weights.layers.push_back(LayerBinder(binder, spec, spec.layers[i], static_cast<int64_t>(i)).Bind());
  }
  for (int64_t i = 0; i < spec.ignored_layers; ++i) {
    binder.Ignore(fmt::format("blk.{}.", static_cast<int64_t>(spec.layers.size()) + i));
  }
  binder.Ignore("rope_f");  // frequency factors, which the specification holds already
  return binder.Finish(warnings);
}

}  // namespace inferd::model
