// The self-test between loading and serving: the tokenizer gives texts back, the template renders, and a forward pass
// gives finite numbers. FAILED_PRECONDITION says what is wrong.
//
//   RETURN_IF_ERROR(VerifyTokenizer(*tokenizer, model->vocabulary_size()));
#pragma once

#include "absl/status/status.h"
#include "engine/device/device.h"
#include "engine/tokenizer/tokenizer.h"
#include "worker/loaded_model.h"

namespace inferd::worker {

absl::Status VerifyTokenizer(const tokenizer::Tokenizer& tokenizer, int32_t vocabulary_size);
absl::Status VerifyTemplate(const LoadedModel& model);
// Of decoders; the sequence is gone afterwards, and nothing of it stays in the prefix cache.
absl::Status VerifyForward(const tokenizer::Tokenizer& tokenizer, device::Device& device);

}  // namespace inferd::worker
