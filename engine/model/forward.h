// One pass of a model over a batch: any mixture of prefill chunks and decodes of several sequences.
//
//   RETURN_IF_ERROR(device.cache().Reserve(*a, 3));
//   RETURN_IF_ERROR(device.cache().Reserve(*b, 1));
//   SequenceStep steps[] = {{a.get(), chunk, {}}, {b.get(), last_token, kLastRow}};
//   ASSIGN_OR_RETURN(ForwardResult result, Forward(device, steps));   // result.logits: [1][n_vocab]
//
// The result of a sequence depends on its tokens alone: not on its neighbours in the batch, on how its tokens were
// divided into calls, or on the number of threads.
#pragma once

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "engine/cache/kv_cache.h"
#include "engine/device/device.h"

namespace inferd::model {

// Whether sequences have a state that cannot go back to an earlier token.
bool HasRecurrentState(const DecoderSpec& spec);

enum class Rows : uint8_t { kNone, kLast, kAll };

struct SequenceStep {
  cache::Sequence* sequence;        // tokens.size() are reserved after its length(); no sequence occurs twice
  std::span<const int32_t> tokens;  // at positions length(), length() + 1, ...; each below vocabulary_size
  Rows wanted = Rows::kNone;        // which of these tokens' results are asked for
  int64_t drafts = 0;               // how many of them, at the end, are guesses: they are computed, not committed
};

struct ForwardResult {
  int64_t rows = 0;          // wanted rows of all steps, in order
  int64_t row_elements = 0;  // n_vocab, or n_embd for hidden states
  std::span<float> values;   // [rows][row_elements] f32, row-major; valid until the next call on this device, and
                             // the caller's scratch until then (samplers change logits in place)
};

// Logits of the wanted rows. On success each sequence has been committed: its length() has grown by its tokens. Guesses
// that turn out right may be committed then, in order; what a later pass writes replaces the others. A model with a
// recurrent state takes no guesses, as the state cannot go back: INVALID_ARGUMENT.
// INVALID_ARGUMENT for token ids outside the vocabulary, positions beyond the context, or more tokens or rows than the
// device was made for. FAILED_PRECONDITION for a model without a head (an encoder).
absl::StatusOr<ForwardResult> Forward(device::Device& device, std::span<const SequenceStep> steps);

// The same, but hidden states after the last norm instead of logits. Encoders see a whole text at once: all of it must
// be in this one call, from position 0.
absl::StatusOr<ForwardResult> ForwardHidden(device::Device& device, std::span<const SequenceStep> steps);

// One vector of a text from its hidden states [rows][n_embd], as the model's pooling says (mean, cls, last), or the
// ranking score as one element (rank). Not normalized. `out` has PooledSize(spec) elements.
int64_t PooledSize(const DecoderSpec& spec);
absl::Status Pool(device::Device& device, std::span<const float> hidden, int64_t rows, std::span<float> out);

}  // namespace inferd::model
