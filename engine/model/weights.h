// A model's tensors as the device uses them: views into the mapped file, in the places that the specification names.
//
//   const LayerWeights& layer = model.weights().layers[i];
//   k.rms_norm(x, layer.before_mixer.weight, layer.before_mixer.epsilon, width, h);
//   device multiplies h by layer.attention.q.weights, then adds layer.attention.q.bias where there is one
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/model/decoder_spec.h"
#include "kernels/kernels.h"

namespace inferd::model {

struct Linear {
  std::string_view name;            // of the tensor, for messages
  kernels::WeightMatrix weights{};  // data == nullptr: absent
  const float* bias = nullptr;      // [rows]
  const float* scale = nullptr;     // [1] multiplies the product
  explicit operator bool() const { return weights.data != nullptr; }
};

struct Norm {
  bool present = false;
  NormKind kind = NormKind::kRms;
  float epsilon = 0;
  const float* weight = nullptr;  // [n], nullptr: ones
  const float* bias = nullptr;    // [n], nullptr: zeros
};

// A matrix for each expert, expert_bytes apart.
struct ExpertLinear {
  std::string_view name;
  kernels::WeightMatrix weights{};  // of expert 0
  size_t expert_bytes = 0;
  int64_t bias_stride = 0;       // floats from one expert's bias to the next one's
  const float* bias = nullptr;   // [experts] rows, bias_stride apart
  const float* scale = nullptr;  // [experts]
  explicit operator bool() const { return weights.data != nullptr; }
};

struct AttentionWeights {
  Linear q, k, v;  // rows of one fused tensor are three views of it
  Linear output;
  Linear gate;  // of the output
  Norm q_norm, k_norm;
  const float* sinks = nullptr;  // [heads]
  Linear q_a, q_b, kv_a, kv_b;   // latent attention
  Norm q_a_norm, kv_a_norm;
  Linear k_b, v_b;  // rows = heads * rows of a head
};

struct FeedForwardWeights {
  Linear gate, up, down;  // gate and up of a fused tensor are two views of it
  Linear router;
  const float* router_scale = nullptr;        // [n_embd]: RouterInput::kScaledNorm
  const float* activation_divisor = nullptr;  // [width] of an ungated network's inner row
  const float* selection_bias = nullptr;      // [experts]: added for choosing, not for weighing
  ExpertLinear expert_gate, expert_up, expert_down;
  Linear shared_gate, shared_up, shared_down, shared_router;
  Norm before_experts, after_experts, after_shared;
};

// Tensors of recurrent mixers; each kind uses its own part.
struct RecurrentWeights {
  Linear in, out;                           // ssm_in or shortconv.in_proj or attn_qkv; ssm_out
  Linear x, dt;                             // mamba
  Linear gate, alpha, beta;                 // gated delta net
  Linear beta_alpha;                        // both in one, for each key head its betas, then its alphas
  const float* convolution = nullptr;       // [channels][taps]
  const float* convolution_bias = nullptr;  // [channels]
  const float* a = nullptr;                 // [inner][state] or [heads]
  const float* d = nullptr;                 // [inner] or [heads]
  const float* dt_bias = nullptr;           // [heads]
  Norm norm, dt_norm, b_norm, c_norm;
};

// A layer's part of DecoderSpec::layer_input_width: x += norm(projection(gelu(gate(x)) * input)).
struct LayerInputWeights {
  Linear gate, projection;
  Norm norm;
};

struct AltupWeights {
  Linear router;  // n_embd to streams
  Norm router_norm;
  const float* predict = nullptr;        // [streams][streams][streams]: coefficients of each pair from the router
  const float* correct = nullptr;        // [streams][streams]
  const float* correct_scale = nullptr;  // [n_embd]
  Linear laurel_left, laurel_right;
  Norm laurel_norm;
};

struct LayerWeights {
  Norm before_mixer, inside_mixer, after_mixer, after_mixer_sum;
  Norm before_feed_forward, inside_feed_forward, after_feed_forward, after_feed_forward_sum;
  AttentionWeights attention;
  FeedForwardWeights feed_forward;
  RecurrentWeights recurrent;
  LayerInputWeights layer_input;
  AltupWeights altup;
  const float* output_scale = nullptr;  // [1] of the stream after the layer
};

struct ModelWeights {
  Linear embedding;  // token_embd [n_vocab] rows of n_embd
  Linear positions, token_types;
  Norm embedding_norm, output_norm;
  Linear layer_embedding;   // [n_vocab] rows of layers * layer_input_width
  Linear layer_projection;  // n_embd to the same
  Norm layer_projection_norm;
  Linear altup_projection, altup_merge;  // (streams - 1) * n_embd rows: of each further stream
  Linear head;                           // [n_vocab] rows; the embedding itself where tied; absent for encoders
  Linear rank_dense, rank_output;        // of the ranking head
  Norm rank_norm;
  std::vector<LayerWeights> layers;
  // Each matrix that the binder has bound, of experts the first one: what buffers for products are sized by.
  std::vector<kernels::WeightMatrix> linears;
  std::vector<std::unique_ptr<float[]>> converted;  // small vectors that the file holds in another type than f32
};

}  // namespace inferd::model
