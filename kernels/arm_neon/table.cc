// The table of the neon variant: its own functions, and the reference's where it has none.
#include "kernels/arm_neon/lanes.h"
#include "kernels/arm_neon/peak.h"
#include "kernels/arm_neon/products.h"
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
#include "kernels/variants.h"

namespace inferd::kernels::neon {

const Kernels kTable = {
    .name = "neon",
    .activation_row_bytes = reference::ActivationRowBytes,
    .quantize_rows = QuantizeRows,
    .matmul_scratch_bytes = MatmulScratchBytes,
    .matmul = Matmul,
    .dequantize_row = reference::DequantizeRow,

    .rms_norm = lanes::RmsNorm<Lanes>,
    .layer_norm = lanes::LayerNorm<Lanes>,
    .l2_norm = lanes::L2Norm<Lanes>,
    .rope_table = RopeTable<Lanes>,
    .rope = lanes::Rope<Lanes>,
    .page_bytes = reference::PageBytes,
    .write_kv = lanes::WriteKv<Lanes>,
    .attention_scratch_bytes = lanes::AttentionScratchBytes<Lanes>,
    .attention = lanes::Attention<Lanes>,
    .convolve = lanes::Convolve<Lanes>,
    .mamba_scan = lanes::MambaScan<Lanes>,
    .mamba2_scan = lanes::Mamba2Scan<Lanes>,
    .delta_rule = lanes::DeltaRule<Lanes>,
    .route = RouteWith<lanes::RouterRows<Lanes>>,
    .activate = lanes::ActivateRow<Lanes>,
    .gate = lanes::Gate<Lanes>,
    .add = lanes::Add<Lanes>,
    .multiply = lanes::Multiply<Lanes>,
    .scale = lanes::Scale<Lanes>,
    .add_scaled = lanes::AddScaled<Lanes>,
    .soft_cap = lanes::SoftCap<Lanes>,
    .softmax = lanes::Softmax<Lanes>,
    .argmax = lanes::ArgMax<Lanes>,
    .top_k = lanes::TopK<Lanes>,
    .log_sum_exp = lanes::LogSumExp<Lanes>,
    .all_finite = lanes::AllFinite<Lanes>,
    .int8_peak = Int8Peak,
    .float_peak = FloatPeak,
};

}  // namespace inferd::kernels::neon
