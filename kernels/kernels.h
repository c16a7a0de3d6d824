// Numbers in, numbers out: every operation of a forward pass as one table of functions per instruction set.
//
//   const Kernels& k = SelectKernels(nullptr);             // best variant for this CPU
//   k.quantize_rows(ActivationFormat::kBlock32, x, tokens, n, activations);
//   k.matmul({.weights = w, .row_begin = 0, .row_end = w.rows, .activations = activations, .tokens = tokens,
//             .out = y, .out_stride = w.rows, .scratch = scratch});
//
// kernels/reference defines each result; every other variant gives the same bits for finite input (tests compare
// with ==). Reductions of one value from a row run in 16 lanes (element i goes to lane i % 16, ascending, fma from
// +0) that are then added as a fixed tree: lanes i and i+8, then i+4, i+2, i+1. No function allocates, throws, aborts
// or reads a global that changes.
//
// Buffers need 64-byte alignment where they are ours (activations, scratch, pages); rows of f32 input and output and
// weights in a mapped file need none beyond that of their type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/exact_math.h"  // IWYU pragma: export
#include "kernels/pause.h"       // IWYU pragma: export
#include "kernels/quant_types.h"
#include "kernels/sequence_arguments.h"  // IWYU pragma: export

namespace inferd::kernels {

// Raised with every change of what kernels/reference defines: models of different versions answer differently.
//   2: attention in spans of 512 keys
constexpr uint32_t kNumericsVersion = 2;

constexpr int kRowGroup = 16;  // parallel work divides weight rows at multiples of this

// A matrix of weights as it lies in the file: `rows` rows of `k` elements, each row a run of whole blocks.
struct WeightMatrix {
  TensorType type;
  const void* data;
  int64_t rows;
  int64_t k;
  size_t row_bytes;
};

struct MatmulArguments {
  WeightMatrix weights;
  int64_t row_begin, row_end;      // outputs to make; row_begin is a multiple of kRowGroup
  const void* activations;         // rows in TraitsOf(weights.type).activation, activation_row_bytes apart
  const int32_t* activation_rows;  // [tokens] which activation row each output token takes; nullptr: 0, 1, 2, ...
  int64_t tokens;
  float* out;  // [tokens] rows out_stride floats apart; writes columns row_begin..row_end-1
  int64_t out_stride;
  void* scratch;  // matmul_scratch_bytes(type, k) bytes, one per thread
  // Weights that the thread is likely to read after these, which are asked for while the last rows are multiplied;
  // nullptr: not known.
  const void* next = nullptr;
};

enum class Activation : uint8_t {
  kSilu,
  kGeluTanh,
  kGeluErf,
  kRelu,
  kReluSquared,
  kSigmoid,
  kTanh,
  kGeluQuick,
  kSoftplus,
  kExp,
  kGeluHalf  // kGeluTanh with x and the result in half precision, as the reference implementation of GGUF models has it
};

// Which elements RoPE pairs: neighbours (2i, 2i+1), or halves (i, i + n/2).
enum class RopePairing : uint8_t { kNeighbours, kHalves };

struct TopEntry {
  float logit;
  int32_t id;
};

struct Kernels {
  const char* name;  // "reference", "avx2", "avxvnni", "avx512", "neon", "neon_i8mm"

  // ---- products
  size_t (*activation_row_bytes)(ActivationFormat format, int64_t k);  // a multiple of 64
  void (*quantize_rows)(ActivationFormat format, const float* x, int64_t rows, int64_t k, void* out);  // x [rows][k]
  size_t (*matmul_scratch_bytes)(TensorType type, int64_t k);
  void (*matmul)(const MatmulArguments& arguments);
  void (*dequantize_row)(TensorType type, const void* row, int64_t k, float* out);  // k: whole blocks

  // ---- norms; weight and bias may be nullptr (1 and 0)
  void (*rms_norm)(const float* x, const float* weight, float epsilon, int64_t n, float* out);
  void (*layer_norm)(const float* x, const float* weight, const float* bias, float epsilon, int64_t n, float* out);
  void (*l2_norm)(const float* x, float epsilon, int64_t n, float* out);

  // ---- position. The table holds cos then sin of each pair: [2][pairs] f32, scaled by `magnitude`; position times
  // frequency is below 2^30.
  void (*rope_table)(int64_t position, const double* inverse_frequencies, int64_t pairs, float magnitude, float* table);
  void (*rope)(float* heads, int64_t head_count, int64_t head_stride, int64_t rotated, RopePairing pairing,
               const float* table);

  // ---- attention
  size_t (*page_bytes)(const PageShape& shape);  // of one layer, a multiple of 64
  // k [tokens][kv_heads][k_dim], v [tokens][kv_heads][v_dim], rows k_stride and v_stride floats apart, go to the slots
  // slot..slot+tokens-1 (all below 64) of the page.
  void (*write_kv)(const PageShape& shape, void* page, int32_t slot, int32_t tokens, const float* k, int64_t k_stride,
                   const float* v, int64_t v_stride);
  size_t (*attention_scratch_bytes)(const PageShape& shape, int32_t group, int64_t queries);
  void (*attention)(const AttentionArguments& arguments);
  // The same in parts: first each span s of kSpanTokens keys that a query sees (keys s * 512 .. s * 512 + 511), by any
  // thread with scratch of its own; then their results in ascending order. Together they give attention's bits.
  // state [queries][group][SpanStateFloats(v_dim)], 64-byte aligned; `out` is not used.
  void (*attention_span)(const AttentionArguments& arguments, int64_t span, float* state);
  // states [spans] of those, ascending; makes `out`. `pages` are not used.
  void (*merge_spans)(const AttentionArguments& arguments, int64_t spans, const float* states);

  // ---- layers with a recurrent state, and expert choice
  void (*convolve)(const ConvolutionArguments& arguments);
  void (*mamba_scan)(const MambaArguments& arguments);
  void (*mamba2_scan)(const Mamba2Arguments& arguments);
  void (*delta_rule)(const DeltaArguments& arguments);
  void (*route)(const RouterArguments& arguments);

  // ---- element-wise; out may be an input
  void (*activate)(Activation kind, const float* x, int64_t n, float* out);
  void (*gate)(Activation kind, const float* gate, const float* up, int64_t n, float* out);  // act(gate) * up
  void (*add)(const float* a, const float* b, int64_t n, float* out);
  void (*multiply)(const float* a, const float* b, int64_t n, float* out);
  void (*scale)(const float* x, float factor, int64_t n, float* out);
  void (*add_scaled)(const float* x, float factor, int64_t n, float* out);  // out = fma(x, factor, out)
  void (*soft_cap)(const float* x, float cap, int64_t n, float* out);       // cap * tanh(x / cap)
  void (*softmax)(const float* x, int64_t n, float* out);

  // ---- vocabulary
  int32_t (*argmax)(const float* x, int64_t n);  // smallest index among equals; NaN is never chosen; -1 if all are NaN
  // The k largest in descending order (ties: smaller id first) into top; returns how many (min(k, n)). NaN sorts last.
  int32_t (*top_k)(const float* x, int64_t n, int32_t k, TopEntry* top);
  // log(sum(exp(x))) with the maximum taken out, sums in 16 lanes; NaN if any element is NaN or +infinity.
  float (*log_sum_exp)(const float* x, int64_t n);
  bool (*all_finite)(const float* x, int64_t n);

  // ---- the machine's limits, for benchmarks. Runs the variant's fastest product on registers alone, adds something
  // that depends on it to *sink, and returns the operations made (a multiply-add is two).
  int64_t (*int8_peak)(int64_t rounds, float* sink);
  int64_t (*float_peak)(int64_t rounds, float* sink);
};

// The variant of that name, or with nullptr the best that this CPU runs. nullptr if the name is unknown or the CPU
// cannot run it.
const Kernels* SelectKernels(const char* name);

// Names of all variants in this build, best last; ends with nullptr.
const char* const* KernelVariants();

}  // namespace inferd::kernels
