// What a model must pass before it serves: the worker makes these checks after loading, `inferd-model verify` for an
// operator. FAILED_PRECONDITION says what is wrong.
//
//   RETURN_IF_ERROR(CheckTokenizer(*tokenizer, model->vocabulary_size()));
//   RETURN_IF_ERROR(CheckForward(*device));
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/device/device.h"
#include "engine/scheduler/rates.h"
#include "engine/tokenizer/tokenizer.h"

namespace inferd::engine {

// The tokenizer gives texts back, in tokens that the model has. `vocabulary_size`: rows of the embeddings, of which
// there may be more than tokens.
absl::Status CheckTokenizer(const tokenizer::Tokenizer& tokenizer, int32_t vocabulary_size);

// A pass of a few tokens through all layers, and one of a single token, give finite numbers. Tells how long they took.
// Nothing of them stays in the cache.
absl::StatusOr<scheduler::PassTimes> CheckForward(device::Device& device);

}  // namespace inferd::engine
