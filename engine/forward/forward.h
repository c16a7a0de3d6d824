// One pass of a model over a batch: any mixture of prefill chunks and decodes of several sequences.
//
//   RETURN_IF_ERROR(device.cache().Reserve(*a, 3));
//   RETURN_IF_ERROR(device.cache().Reserve(*b, 1));
//   SequenceStep steps[] = {{a.get(), chunk, {}}, {b.get(), last_token, kLastRow}};
//   ASSIGN_OR_RETURN(ForwardResult result, Forward(device, steps));
//   ASSIGN_OR_RETURN(std::span<float> logits, result.Row(0));         // [n_vocab]
//
// The result of a sequence depends on its tokens alone: not on its neighbours in the batch, on how its tokens were
// divided into calls, or on the number of threads.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/cache/kv_cache.h"
#include "engine/device/device.h"

namespace inferd::forward {

enum class Rows : uint8_t { kNone, kLast, kAll };

constexpr int64_t kOneText = std::numeric_limits<int64_t>::max();

struct SequenceStep {
  cache::Sequence* sequence;        // tokens.size() are reserved after its length(); no sequence occurs twice
  std::span<const int32_t> tokens;  // at positions length(), length() + 1, ...; each below vocabulary_size
  Rows wanted = Rows::kNone;        // which of these tokens' results are asked for
  int64_t drafts = 0;               // how many of them, at the end, are guesses: they are computed, not committed
  int64_t second_text = kOneText;   // position from which tokens are of a second text: token type 1, where types exist
};

// The wanted rows of all steps, in order, until the next call on this device. Logits are made of a few rows at a time,
// as these are asked for.
class ForwardResult {
 public:
  // All values at once: [rows][row_elements].
  ForwardResult(int64_t rows, int64_t row_elements, std::span<float> values)
      : rows_(rows), row_elements_(row_elements), values_(values) {}
  // Logits of these rows of the device's last pass; the first ones are computed at once.
  static absl::StatusOr<ForwardResult> OfLogits(device::Device& device, std::vector<int32_t> wanted);
  // Their hidden states after the last norm.
  static absl::StatusOr<ForwardResult> OfHidden(device::Device& device, std::span<const int32_t> wanted);
  ForwardResult(ForwardResult&&) = default;
  ForwardResult& operator=(ForwardResult&&) = default;

  int64_t rows() const { return rows_; }
  int64_t row_elements() const { return row_elements_; }  // n_vocab, or n_embd for hidden states
  // [row_elements] f32, the caller's scratch (samplers change logits in place). Rows are asked for in ascending order,
  // as a later one may take the memory of those before it.
  // Waits for the device, and gives its error.
  absl::StatusOr<std::span<float>> Row(int64_t row);
  absl::StatusOr<std::vector<float>> Copy();  // [rows][row_elements]; before any row is asked for

 private:
  int64_t rows_, row_elements_;
  int64_t first_ = 0;        // of the rows in values_
  std::span<float> values_;  // [some rows][row_elements]
  device::Device* device_ = nullptr;
  std::vector<int32_t> wanted_;  // rows of the pass
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
int64_t PooledSize(const model::DecoderSpec& spec);
absl::Status Pool(device::Device& device, std::span<const float> hidden, int64_t rows, std::span<float> out);

}  // namespace inferd::forward
