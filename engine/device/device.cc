#include "engine/device/device.h"

#include "config/base/status.h"

namespace inferd::device {

absl::Status ResolveOptions(const model::Model& model, DeviceOptions& options) {
  if (options.context_tokens == 0) options.context_tokens = model.context_length();
  if (options.context_tokens < 1) return InvalidArgument("context: {}, expected at least 1", options.context_tokens);
  if (model.spec().learned_positions && options.context_tokens > model.context_length()) {
    return InvalidArgument("context: {}, the model has learned positions up to {}", options.context_tokens,
                           model.context_length());
  }
  if (options.max_batch_tokens < 1 || options.max_batch_tokens > (1 << 20)) {
    return InvalidArgument("batch.prefill_tokens: {}, expected 1..1048576", options.max_batch_tokens);
  }
  if (options.max_result_rows < 1)
    return InvalidArgument("result rows: {}, expected at least 1", options.max_result_rows);
  return absl::OkStatus();
}

}  // namespace inferd::device
