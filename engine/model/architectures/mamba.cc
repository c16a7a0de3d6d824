// Mamba and Mamba-2: no attention and no feed-forward network, only recurrent mixers. arXiv 2312.00752, 2405.21060;
// Falcon Mamba adds norms of dt, B and C.
#include "engine/model/architectures/common.h"

namespace inferd::model {

namespace {

DecoderSpec CommonMamba(Metadata& m, RecurrentSpec mixer) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  mixer.inner = m.Count("ssm.inner_size", 1 << 20);
  mixer.convolution = m.Count("ssm.conv_kernel", 64);
  mixer.state = m.Count("ssm.state_size", 65536);
  mixer.heads = m.Count("ssm.time_step_rank", 1 << 20);
  ForEachLayer(spec, [&](LayerSpec& layer) {
    layer.attention = {};
    layer.feed_forward = {};
    layer.recurrent = mixer;
  });
  return spec;
}

}  // namespace

DecoderSpec DescribeMamba(Metadata& m) {
  const bool norms = m.FlagOr("ssm.dt_b_c_rms", false) || HasTensor(m, "blk.0.ssm_dt_norm.weight");
  return CommonMamba(m, {.kind = RecurrentKind::kMamba, .norm_dt_b_c = norms});
}

DecoderSpec DescribeMamba2(Metadata& m) {
  return CommonMamba(m, {.kind = RecurrentKind::kMamba2, .groups = m.Count("ssm.group_count", 65536)});
}

}  // namespace inferd::model
