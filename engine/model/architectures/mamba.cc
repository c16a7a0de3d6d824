// Mamba and Mamba-2: no attention and no feed-forward network, only recurrent mixers. arXiv 2312.00752, 2405.21060;
// Falcon Mamba adds norms of dt, B and C.
#include "engine/model/architectures/common.h"

namespace inferd::model {

namespace {

DecoderSpec OnlyMixers(Metadata& m, const RecurrentSpec& mixer) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  ForEachLayer(spec, [&](LayerSpec& layer) {
    layer.attention = {};
    layer.feed_forward = {};
    layer.recurrent = mixer;
  });
  return spec;
}

}  // namespace

DecoderSpec DescribeMamba(Metadata& m) {
  RecurrentSpec mixer = ReadMixer(m, RecurrentKind::kMamba);
  mixer.norm_dt_b_c = m.FlagOr("ssm.dt_b_c_rms", false) || HasTensor(m, "blk.0.ssm_dt_norm.weight");
  return OnlyMixers(m, mixer);
}

DecoderSpec DescribeMamba2(Metadata& m) { return OnlyMixers(m, ReadMixer(m, RecurrentKind::kMamba2)); }

}  // namespace inferd::model
