// Whether a specification makes sense: the numbers come from a file that nobody vouches for.
#pragma once

#include "absl/status/status.h"
#include "engine/model/decoder_spec.h"

namespace inferd::model {

// INVALID_ARGUMENT names the architecture, the layer and what does not fit.
absl::Status CheckSpec(const DecoderSpec& spec);

}  // namespace inferd::model
