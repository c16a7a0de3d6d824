// The table of the neon variant: its own functions, and the reference's where it has none.
#include "kernels/reference/products.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace inferd::kernels::neon {

const Kernels kTable = {
    .name = "neon",
    .activation_row_bytes = reference::ActivationRowBytes,
    .quantize_rows = reference::QuantizeRows,
    .matmul_scratch_bytes = reference::MatmulScratchBytes,
    .matmul = reference::Matmul,
    .dequantize_row = reference::DequantizeRow,

    .rms_norm = reference::RmsNorm,
    .layer_norm = reference::LayerNorm,
    .l2_norm = reference::L2Norm,
    .rope_table = reference::RopeTable,
    .rope = reference::Rope,
    .page_bytes = reference::PageBytes,
    .write_kv = reference::WriteKv,
    .attention_scratch_bytes = reference::AttentionScratchBytes,
    .attention = reference::Attention,
    .convolve = reference::Convolve,
    .mamba_scan = reference::MambaScan,
    .mamba2_scan = reference::Mamba2Scan,
    .delta_rule = reference::DeltaRule,
    .route = reference::Route,
    .activate = reference::ActivateRow,
    .gate = reference::Gate,
    .add = reference::Add,
    .multiply = reference::Multiply,
    .scale = reference::Scale,
    .add_scaled = reference::AddScaled,
    .soft_cap = reference::SoftCap,
    .softmax = reference::Softmax,
    .argmax = reference::ArgMax,
    .top_k = reference::TopK,
    .log_sum_exp = reference::LogSumExp,
    .all_finite = reference::AllFinite,
};

}  // namespace inferd::kernels::neon
