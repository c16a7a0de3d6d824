// What a model is, in numbers and choices: everything that forward.cc and a device need to know about a family, and the
// only thing that a file in architectures/ has to produce. Tensors are bound afterwards by what the spec says.
//
//   spec.width = m.Count("embedding_length");
//   spec.norm = {NormKind::kRms, m.Real("attention.layer_norm_rms_epsilon")};
//   for (LayerSpec& layer : spec.layers) layer.attention = {.heads = 32, .kv_heads = 8, .k_dim = 64, .v_dim = 64};
//
// Dimensions are in elements, positions and windows in tokens.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/spec_kinds.h"
#include "kernels/kernels.h"

namespace inferd::model {

struct NormSpec {
  NormKind kind = NormKind::kRms;
  float epsilon = 1e-5f;
};

// Rotary position embedding (arXiv 2104.09864) and its extensions to longer contexts.
struct RopeSpec {
  kernels::RopePairing pairing = kernels::RopePairing::kNeighbours;
  int64_t rotated = 0;  // dimensions of a head that turn, from its first on
  double base = 10000.0;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;  // how many times longer than trained
  int64_t original_context = 0;
  double attention_factor = 1.0;  // times the magnitude that the scaling implies
  double yarn_extrapolation = 1.0, yarn_beta_fast = 32.0, yarn_beta_slow = 1.0, yarn_log_multiplier = 0.0;
  std::vector<float> factors_short, factors_long;  // [rotated / 2] divisors of the frequencies; equal where one set
};

// Multi-head latent attention (arXiv 2405.04434): K and V of all heads come from one small vector.
struct LatentSpec {
  int64_t q_rank = 0;    // 0: queries are projected directly
  int64_t kv_rank = 0;   // 0: no latent attention
  int64_t nope_dim = 0;  // of a head's query and key without position
  int64_t rope_dim = 0;  // of the rotated rest, shared by all heads' keys
  int64_t v_dim = 0;     // of a head's value after decompression
  bool absorbed = true;  // the file has k_b and v_b apart: attention runs in the latent space with one KV head
};

struct AttentionSpec {
  int64_t heads = 0;  // 0: the layer has no attention
  int64_t kv_heads = 0;
  int64_t k_dim = 0, v_dim = 0;  // of a head
  int64_t window = 0;            // 0: sees everything before it
  WindowShape window_shape = WindowShape::kCausal;
  int32_t rope = 0;  // index into DecoderSpec::ropes; -1: none
  QkNorm qk_norm = QkNorm::kNone;
  NormKind qk_norm_kind = NormKind::kRms;
  bool qk_norm_after_rope = false;
  float scale = 0;  // of the scores; 0: 1 / sqrt(k_dim)
  float soft_cap = 0;
  float alibi_max_bias = 0;  // > 0: linear biases (arXiv 2108.12409); of encoders to both sides
  float clamp_qkv = 0;
  bool sinks = false;
  bool gated_output = false;                   // q carries a gate beside each head: out *= sigmoid(gate)
  GateTensor gate_tensor = GateTensor::kNone;  // attn_gate: out *= activation(attn_gate(input))
  kernels::Activation gate_activation = kernels::Activation::kSigmoid;
  float value_scale = 1;
  bool norm_values = false;       // each head's value, without weights
  bool values_from_keys = false;  // without attn_v: values are the keys before their norm and RoPE
  int32_t kv_of = -1;             // the earlier layer whose K and V are used; -1: its own
  int64_t temperature_floor = 0;  // > 0: q *= 1 + scale * log(1 + floor((position + offset) / floor))
  int64_t temperature_offset = 0;
  float temperature_scale = 0;
  Bias qkv_bias = Bias::kIfPresent, output_bias = Bias::kIfPresent;
  LatentSpec latent;
};

struct ExpertSpec {
  int64_t count = 0;  // 0: a dense network
  int64_t used = 0;
  int64_t width = 0;
  Gating gating = Gating::kSoftmax;
  bool normalize = true;  // weights of the chosen sum to 1
  float weight_scale = 1;
  float limit = 0;                      // as FeedForwardSpec::limit
  bool weigh_input = false;             // an expert's input is multiplied by its weight, not its output
  int64_t groups = 1, groups_used = 1;  // experts are chosen from the best groups
  int64_t shared_width = 0;             // beside the chosen ones, always; 0: none
  bool shared_gate = false;             // the shared expert's output *= sigmoid(gate(x))
  bool shared_is_dense = false;         // the shared expert's tensors are those of a dense network
  float sum_scale = 1;                  // of the experts' and the shared expert's sum
  ExpertInput input = ExpertInput::kFeedForward;
  RouterInput router_input = RouterInput::kExperts;
};

// xIELU (arXiv 2411.13010): positive * x^2 + beta * x above 0, else negative * (exp(min(x, epsilon)) - 1 - x) +
// beta * x.
struct XieluSpec {
  float negative = 0, positive = 0, beta = 0, epsilon = 0;
};

struct FeedForwardSpec {
  int64_t width = 0;           // 0: none (unless experts.count)
  bool gated = true;           // down(act(gate(x)) * up(x)); else down(act(up(x)))
  bool fused_gate_up = false;  // one tensor ffn_up holds gate then up
  kernels::Activation activation = kernels::Activation::kSilu;
  float clamp = 0;                 // > 0: gate <= clamp, |up| <= clamp, act = g * sigmoid(1.702 g), times (up + 1)
  float limit = 0;                 // > 0: min(act(gate), limit) * clamp(up, -limit, limit); of a shared expert too
  std::optional<XieluSpec> xielu;  // instead of `activation`, without a gate
  float sparsity = 0;  // > 0: gate = max(0, gate - mean - sparsity * deviation) over its row, before the activation
  Bias bias = Bias::kIfPresent;
  ExpertSpec experts;
};

// Layers whose memory is a state of fixed size instead of pages.
struct RecurrentSpec {
  RecurrentKind kind = RecurrentKind::kNone;
  int64_t inner = 0;        // width of the mixer
  int64_t convolution = 0;  // taps
  int64_t state = 0;        // of each channel or key
  int64_t heads = 0;        // value heads; for kMamba the rank of the time step
  int64_t groups = 0;       // key heads, or groups that share B and C
  bool norm = true;         // kMamba2: of the output
  bool norm_dt_b_c = false;
  bool heads_by_group = false;  // gated delta net: value heads of one key head lie side by side, else key heads repeat
};

struct LayerSpec {
  bool norm_before_mixer = true;  // false: not in this layer, whatever NormPlaces says
  AttentionSpec attention;
  RecurrentSpec recurrent;  // beside attention: both read the same input
  FeedForwardSpec feed_forward;
};

// Names of the norm tensors at each place of a layer ("attn_norm"); empty: none there.
struct NormPlaces {
  std::string_view before_mixer = "attn_norm";
  std::string_view inside_mixer;     // on the heads' outputs, before the output projection
  std::string_view after_mixer;      // on the branch
  std::string_view after_mixer_sum;  // on the residual stream
  std::string_view before_feed_forward = "ffn_norm";
  std::string_view inside_feed_forward;  // before the down projection
  std::string_view after_feed_forward;
  std::string_view after_feed_forward_sum;
  std::string_view before_experts;               // of ExpertInput::kOwnNorm...
  std::string_view after_shared, after_experts;  // on the parts of an expert network's sum
};

// A head that ranks a whole text: scores = output(norm(activation(dense(x)))), each part only where the file has it.
struct RankSpec {
  int64_t classes = 1;
  Pooling of = Pooling::kCls;  // x: the mean, the first or the last of the hidden states
  kernels::Activation activation = kernels::Activation::kTanh;
  bool softmax = false;  // over the classes
};

// Alternating updates (AltUp, arXiv 2301.13310): several residual streams, of which a layer computes the first and
// predicts the others; and a branch of low rank beside attention (LAuReL, arXiv 2411.07501).
struct AltupSpec {
  int64_t streams = 0;  // 0: none of both
  int64_t rank = 0;     // of the branch
};

struct DecoderSpec {
  std::string architecture;
  bool encoder = false;  // sees the whole text, has no head over the vocabulary
  int64_t vocabulary_size = 0, width = 0, context_length = 0;
  NormSpec norm;
  NormPlaces norm_places;
  std::string_view output_norm = "output_norm";  // empty: none
  bool norm_weights_required = true;             // false: norms without a tensor are plain
  bool embedding_norm = false;                   // token_embd_norm
  bool learned_positions = false;                // position_embd
  int64_t token_types = 0;                       // rows of token_types: the second is a second text's; 0: none
  float embedding_scale = 1, residual_scale = 1, logit_scale = 1;
  float logit_soft_cap = 0;
  int64_t layer_input_width = 0;  // > 0: each layer adds a branch that reads an embedding of the token for that layer
  AltupSpec altup;
  bool parallel = false;  // x += mixer(norm(x)) + feed_forward(norm'(x))
  Pooling pooling = Pooling::kNone;
  RankSpec rank;
  std::vector<RopeSpec> ropes;
  std::vector<LayerSpec> layers;
  std::vector<std::string_view> unused_tensors;  // beginnings of names within a block that the family does not use
  int64_t ignored_layers = 0;  // blocks after the last one whose tensors are not used (multi-token prediction)
};

// Whether sequences have a state that cannot go back to an earlier token.
inline bool HasRecurrentState(const DecoderSpec& spec) {
  return std::any_of(spec.layers.begin(), spec.layers.end(),
                     [](const LayerSpec& layer) { return layer.recurrent.kind != RecurrentKind::kNone; });
}

}  // namespace inferd::model
