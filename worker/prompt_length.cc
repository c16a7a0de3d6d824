// The vocabulary's longest token bounds how few tokens a text can have.
#include "worker/prompt_length.h"

#include "config/base/status.h"

namespace inferd::worker {

absl::Status CheckTextLength(std::string_view field, size_t text_bytes, const tokenizer::Tokenizer& tokenizer,
                             const engine::RequestLimits& limits) {
  const int64_t tokens = tokenizer.FewestTokens(text_bytes);
  if (tokens <= engine::WindowTokens(limits)) return absl::OkStatus();
  return AtField(field, OutOfRange("{}, but the prompt has at least {} tokens, since it has {} bytes",
                                   engine::WindowText(limits), tokens, text_bytes));
}

}  // namespace inferd::worker
