// Arguments of the kernels that walk a sequence: attention over pages and the recurrent layers of hybrid models.
//
//   AttentionArguments a{.shape = {CacheType::kF16, 8, 64, 64}, .pages = pages, .kv_head = 2, .group = 4,
//                        .queries = 1, .position = 100, .q = q, .q_stride = 0, .out = out, .out_stride = 0,
//                        .scale = 0.125f, .scratch = scratch};
//   kernels.attention(a);                                  // heads 8..11 of the token at position 100
//
// Every result is defined for one token after another; the counts of tokens only let a kernel load keys, values and
// state once for many of them. Strides count floats.
#pragma once

#include <cstddef>
#include <cstdint>

namespace inferd::kernels {

constexpr int kPageTokens = 64;   // tokens of one KV page, and keys of one attention chunk
constexpr int kSpanTokens = 512;  // keys of one span of attention, which threads or devices may take apart

enum class CacheType : uint8_t { kF32, kF16, kQ8_0 };

// One page of one layer holds 64 tokens of K and V for all KV heads. K is stored with the tokens innermost, V with
// the head's dimension innermost, so that the outputs of both products lie in the lanes:
//   K [kv_heads][k_dim][64], V [kv_heads][64][v_dim], each part on a 64-byte boundary
// q8_0 holds int8 there and adds f16 scales behind them, one per token and 32 dimensions:
//   [kv_heads][k_dim / 32][64] for K, [kv_heads][v_dim / 32][64] for V
struct PageShape {
  CacheType type;
  int32_t kv_heads, k_dim, v_dim;  // dims: multiples of 32 for kQ8_0, else of 1
};

// Query i of `queries` stands at position + i and sees the keys p with
//   causal (bidirectional_end = 0):  max(first_key, position + i - window + 1) <= p <= position + i
//   encoder (bidirectional_end > 0): 0 <= p < bidirectional_end, and with a window |p - (position + i)| <= window / 2
struct AttentionArguments {
  PageShape shape;
  const void* const* pages;   // this layer's page of each 64 tokens, as far as keys are seen; those that no query of
                              // the call sees may be nullptr
  int32_t kv_head;            // the group's KV head
  int32_t group;              // query heads that share it, >= 1
  int64_t queries;            // consecutive tokens of one sequence, >= 1; all their keys are written
  int64_t position;           // of the first query
  int64_t first_key;          // see above; 0: all (chunked attention: the start of the queries' chunk)
  int64_t window;             // 0: all
  int64_t bidirectional_end;  // 0: causal
  const float* q;             // [queries][group][k_dim], queries q_stride apart
  int64_t q_stride;
  float* out;  // [queries][group][v_dim], queries out_stride apart
  int64_t out_stride;
  float scale;                // score = scale * (q . k)
  float soft_cap;             // 0: none; else score = cap * tanh(score / cap)
  const float* alibi_slopes;  // [group] or nullptr: then score -= slope * |key position - query position|
  const float* sinks;         // [group] or nullptr: a score that takes part in the softmax without a value
  void* scratch;              // attention_scratch_bytes(shape, group, queries) bytes
};

// What one span gives for one query head: [0] the maximum of its scores, [1] the sum of its weights, [16..] its sums of
// values, not yet divided. A span without a key that the query sees has the sum 0.
constexpr int64_t SpanStateFloats(int64_t v_dim) { return 16 + (v_dim + 15) / 16 * 16; }

// Causal depthwise convolution over the tokens of one sequence, one short filter per channel (Mamba, LFM2):
//   out[t][c] = sum_j taps[j][c] * x[t - width + 1 + j][c], ascending j by fma from +0; then + bias[c]
struct ConvolutionArguments {
  int64_t channels;   // may be a part of a layer's: all rows below then are stride apart
  int64_t stride;     // between the rows of taps and of state
  int32_t width;      // >= 2
  const float* taps;  // [width][channels], oldest first
  const float* bias;  // [channels] or nullptr
  float* state;       // [width - 1][channels] the inputs before the first token, oldest first; updated
  int64_t tokens;
  const float* x;  // [tokens][channels], x_stride apart
  int64_t x_stride;
  float* out;  // [tokens][channels], out_stride apart; not x
  int64_t out_stride;
};

// Selective scan of Mamba (section 3.2 of arXiv:2312.00752), a decay for each channel and state element:
//   h[n][c] = fma(exp(dt * a[n][c]), h[n][c], (dt * x) * b[n]);  out = sum_n h[n][c] * c[n] + d[c] * x
// with dt = softplus(dt[t][c]); n ascending by fma from +0.
struct MambaArguments {
  int64_t channels;  // may be a part of a layer's
  int64_t stride;    // between the rows of a and of state
  int32_t states;    // N, usually 16
  const float* a;    // [states][channels], negative
  const float* d;    // [channels]
  float* state;      // [states][channels], updated
  int64_t tokens;
  const float* x;  // [tokens][channels], x_stride apart
  int64_t x_stride;
  const float* dt;  // [tokens][channels] before softplus, bias added, dt_stride apart
  int64_t dt_stride;
  const float* b;  // [tokens][states], bc_stride apart
  const float* c;  // [tokens][states], bc_stride apart
  int64_t bc_stride;
  float* out;  // [tokens][channels], out_stride apart; may be x
  int64_t out_stride;
};

// One head of Mamba-2 (section 7 of arXiv:2405.21060), one decay for the head:
//   h[n][p] = fma(exp(dt * a), h[n][p], b[n] * (dt * x[p]));  out[p] = sum_n c[n] * h[n][p] + d * x[p]
struct Mamba2Arguments {
  int32_t head_dim;  // P
  int32_t states;    // N
  float a, d;
  float* state;  // [states][head_dim], updated
  int64_t tokens;
  const float* x;  // [tokens][head_dim], x_stride apart
  int64_t x_stride;
  const float* dt;  // [tokens] before softplus, bias added, dt_stride apart
  int64_t dt_stride;
  const float* b;  // [tokens][states], bc_stride apart
  const float* c;
  int64_t bc_stride;
  float* out;  // [tokens][head_dim], out_stride apart; may be x
  int64_t out_stride;
};

// One head of the gated delta rule (equation 10 of arXiv:2412.06464):
//   S *= exp(g);  delta = beta * (v - k S);  S += k^T delta;  out = (scale * q) S
// Sums over the rows of S ascend by fma from +0.
struct DeltaArguments {
  int32_t k_dim, v_dim;
  float scale;
  float* state;  // [k_dim][v_dim], updated
  int64_t tokens;
  const float* q;  // [tokens][k_dim], qk_stride apart
  const float* k;  // [tokens][k_dim], qk_stride apart
  int64_t qk_stride;
  const float* v;  // [tokens][v_dim], v_stride apart
  int64_t v_stride;
  const float* log_decay;  // g [tokens], gate_stride apart
  const float* beta;       // [tokens], gate_stride apart
  int64_t gate_stride;
  float* out;  // [tokens][v_dim], out_stride apart; not q, k, v
  int64_t out_stride;
};

// How a router's logits become scores: of all experts, or (kSoftmaxOfChosen) chosen by logit and the softmax taken
// over the chosen alone.
enum class RouterScore : uint8_t { kSoftmax, kSigmoid, kSoftmaxOfChosen };

// The experts of one token, best first; ties choose the smaller id, NaN is chosen last.
struct RouterArguments {
  RouterScore score;
  int32_t experts;              // <= kMaximumExperts
  int32_t chosen;               // 1..experts
  const float* logits;          // [experts]
  const float* selection_bias;  // [experts] or nullptr: added to the scores for choosing, not to the weights
  int32_t groups;               // 0 or 1: none; else experts divide into groups of equal size, of which the
  int32_t groups_used;          // groups_used with the largest sum of their two best scores take part
  bool normalize;               // weights divided by their sum (at least 2^-14)
  float scale;                  // multiplies the weights
  int32_t* ids;                 // [chosen]
  float* weights;               // [chosen]
};
constexpr int32_t kMaximumExperts = 1024;

}  // namespace inferd::kernels
