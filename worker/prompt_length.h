// Refuses a text that is far too long by its bytes, before time and memory go into its tokens: some of a second and
// fifty times its size for each ten megabytes.
//
//   RETURN_IF_ERROR(CheckTextLength("text", request.text().size(), *model.tokenizer, limits));
#pragma once

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"
#include "engine/generation/request.h"
#include "engine/tokenizer/tokenizer.h"

namespace inferd::worker {

// OUT_OF_RANGE, in the words of a prompt whose tokens were counted, if not even the longest tokens of the vocabulary
// would bring the text into the window. `field`: where it is from.
absl::Status CheckTextLength(std::string_view field, size_t text_bytes, const tokenizer::Tokenizer& tokenizer,
                             const engine::RequestLimits& limits);

}  // namespace inferd::worker
