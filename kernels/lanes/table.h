// The table of functions of an instruction set, from its lanes and its own products.
//
//   const Kernels kTable = lanes::TableOf<Lanes>("avx2", {QuantizeRows, MatmulScratchBytes, Matmul, Int8Peak,
//   FloatPeak});
#pragma once

#include "kernels/kernels.h"
#include "kernels/lanes/attention.h"
#include "kernels/lanes/exact_angle.h"
#include "kernels/lanes/page_write.h"
#include "kernels/lanes/recurrent.h"
#include "kernels/lanes/rope.h"
#include "kernels/lanes/router.h"
#include "kernels/lanes/rows.h"
#include "kernels/lanes/vocabulary.h"
#include "kernels/reference/products.h"
#include "kernels/reference/reference.h"

namespace inferd::kernels::lanes {

// What is written for each instruction set; the contracts stand at the entries of kernels.h.
struct OwnKernels {
  void (*quantize_rows)(ActivationFormat format, const float* x, int64_t rows, int64_t k, void* out);
  size_t (*matmul_scratch_bytes)(TensorType type, int64_t k);
  void (*matmul)(const MatmulArguments& arguments);
  int64_t (*int8_peak)(int64_t rounds, float* sink);
  int64_t (*float_peak)(int64_t rounds, float* sink);
};

template <class L>
constexpr Kernels TableOf(const char* name, const OwnKernels& own) {
  return {
      .name = name,
      .activation_row_bytes = reference::ActivationRowBytes,
      .quantize_rows = own.quantize_rows,
      .matmul_scratch_bytes = own.matmul_scratch_bytes,
      .matmul = own.matmul,
      .dequantize_row = reference::DequantizeRow,

      .rms_norm = RmsNorm<L>,
      .layer_norm = LayerNorm<L>,
      .l2_norm = L2Norm<L>,
      .rope_table = RopeTable<L>,
      .rope = Rope<L>,
      .page_bytes = reference::PageBytes,
      .write_kv = WriteKv<L>,
      .attention_scratch_bytes = AttentionScratchBytes<L>,
      .attention = Attention<L>,
      .attention_span = AttentionSpan<L>,
      .merge_spans = MergeSpans<L>,
      .convolve = Convolve<L>,
      .mamba_scan = MambaScan<L>,
      .mamba2_scan = Mamba2Scan<L>,
      .delta_rule = DeltaRule<L>,
      .route = RouteWith<RouterRows<L>>,
      .activate = ActivateRow<L>,
      .gate = Gate<L>,
      .add = Add<L>,
      .multiply = Multiply<L>,
      .scale = Scale<L>,
      .add_scaled = AddScaled<L>,
      .soft_cap = SoftCap<L>,
      .softmax = Softmax<L>,
      .argmax = ArgMax<L>,
      .top_k = TopK<L>,
      .log_sum_exp = LogSumExp<L>,
      .all_finite = AllFinite<L>,
      .int8_peak = own.int8_peak,
      .float_peak = own.float_peak,
  };
}

}  // namespace inferd::kernels::lanes
