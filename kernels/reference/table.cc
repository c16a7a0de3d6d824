// The table of the reference variant, which defines each result.
#include "kernels/reference/products.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace inferd::kernels::reference {

const Kernels kTable = {
    .name = "reference",
    .activation_row_bytes = ActivationRowBytes,
    .quantize_rows = QuantizeRows,
    .matmul_scratch_bytes = MatmulScratchBytes,
    .matmul = Matmul,
    .dequantize_row = DequantizeRow,

    .rms_norm = RmsNorm,
    .layer_norm = LayerNorm,
    .l2_norm = L2Norm,
    .rope_table = RopeTable,
    .rope = Rope,
    .page_bytes = PageBytes,
    .write_kv = WriteKv,
    .attention_scratch_bytes = AttentionScratchBytes,
    .attention = Attention,
    .attention_span = AttentionSpan,
    .merge_spans = MergeSpans,
    .convolve = Convolve,
    .mamba_scan = MambaScan,
    .mamba2_scan = Mamba2Scan,
    .delta_rule = DeltaRule,
    .route = Route,
    .activate = ActivateRow,
    .gate = Gate,
    .add = Add,
    .multiply = Multiply,
    .scale = Scale,
    .add_scaled = AddScaled,
    .soft_cap = SoftCap,
    .softmax = Softmax,
    .argmax = ArgMax,
    .top_k = TopK,
    .log_sum_exp = LogSumExp,
    .all_finite = AllFinite,
    .int8_peak = Int8Peak,
    .float_peak = FloatPeak,
};

}  // namespace inferd::kernels::reference
