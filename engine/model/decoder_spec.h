// What a model is, in numbers and choices: everything that forward.cc and a device need to know about a family, and the
// only thing that a file in architectures/ has to produce. Tensors are bound afterwards by what the spec says.
//
//   spec.width = m.Count("embedding_length");
//   spec.norm = {NormKind::kRms, m.Real("attention.layer_norm_rms_epsilon")};
//   for (LayerSpec& layer : spec.layers) layer.attention = {.heads = 32, .kv_heads = 8, .k_dim = 64, .v_dim = 64};
//
// Dimensions are in elements, positions and windows in tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernels.h"

namespace inferd::model {

enum class NormKind : uint8_t { kRms, kLayer };
enum class Bias : uint8_t { kIfPresent, kRequired };
enum class QkNorm : uint8_t {
  kNone,
  kShared,   // one weight [head] for all heads
  kPerHead,  // weights [head][heads]
  kWhole,    // over all heads together, weights [heads * head]
  kPlain,    // of each head, without weights
};
enum class WindowShape : uint8_t {
  kCausal,   // the last `window` tokens
  kCentred,  // encoders: window / 2 tokens to either side
  kChunked,  // only tokens of the same `window`-aligned chunk
};
enum class RopeScaling : uint8_t { kNone, kLinear, kYarn, kLongRope };
enum class Gating : uint8_t { kSoftmax, kSigmoid, kSoftmaxOfChosen };  // how a router's logits become weights
enum class RecurrentKind : uint8_t { kNone, kShortConvolution, kMamba, kMamba2, kGatedDeltaNet };
enum class Pooling : uint8_t { kNone, kMean, kCls, kLast, kRank };

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
  float alibi_max_bias = 0;  // > 0: linear biases (arXiv 2108.12409)
  float clamp_qkv = 0;
  bool sinks = false;
  bool gated_output = false;      // q carries a gate beside each head: out *= sigmoid(gate)
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
  bool weigh_input = false;             // an expert's input is multiplied by its weight, not its output
  int64_t groups = 1, groups_used = 1;  // experts are chosen from the best groups
  int64_t shared_width = 0;             // beside the chosen ones, always; 0: none
  bool shared_gate = false;             // the shared expert's output *= sigmoid(gate(x))
};

struct FeedForwardSpec {
  int64_t width = 0;           // 0: none (unless experts.count)
  bool gated = true;           // down(act(gate(x)) * up(x)); else down(act(up(x)))
  bool fused_gate_up = false;  // one tensor ffn_up holds gate then up
  kernels::Activation activation = kernels::Activation::kSilu;
  float clamp = 0;  // > 0: gate <= clamp, |up| <= clamp, act = g * sigmoid(1.702 g), times (up + 1)
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
  bool norm_dt_b_c = false;
  bool heads_by_group = false;  // gated delta net: value heads of one key head lie side by side, else key heads repeat
};

struct LayerSpec {
  bool norm_before_mixer = true;  // false: not in this layer, whatever NormPlaces says
  AttentionSpec attention;
  RecurrentSpec recurrent;
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
};

// A head that ranks a whole text: scores = output(norm(activation(dense(x)))), each part only where the file has it.
struct RankSpec {
  int64_t classes = 1;
  Pooling of = Pooling::kCls;  // x: the mean, the first or the last of the hidden states
  kernels::Activation activation = kernels::Activation::kTanh;
  bool softmax = false;  // over the classes
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
  int64_t token_types = 0;                       // rows of token_types, of which all tokens take the first; 0: none
  float embedding_scale = 1, residual_scale = 1, logit_scale = 1;
  float logit_soft_cap = 0;
  bool parallel = false;  // x += mixer(norm(x)) + feed_forward(norm'(x))
  Pooling pooling = Pooling::kNone;
  RankSpec rank;
  std::vector<RopeSpec> ropes;
  std::vector<LayerSpec> layers;
  std::vector<std::string_view> unused_tensors;  // beginnings of names within a block that the family does not use
  int64_t ignored_layers = 0;  // blocks after the last one whose tensors are not used (multi-token prediction)
};

}  // namespace inferd::model
