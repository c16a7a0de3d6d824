// Binds every tensor that a specification calls for, under the names that GGUF files give them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "engine/gguf/gguf_file.h"
#include "engine/model/decoder_spec.h"
#include "engine/model/weights.h"

namespace inferd::model {

// INVALID_ARGUMENT names the tensor that is missing, has a wrong shape or is of another family; a warning, those that
// no family uses.
absl::Status BindWeights(const gguf::GgufFile& file, const DecoderSpec& spec, ModelWeights& weights,
                         std::vector<std::string>& warnings);

}  // namespace inferd::model
