// One function a check.
#include "engine/self_test.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <ctime>
#include <string>
#include <vector>

#include "config/base/clock.h"
#include "config/base/status.h"
#include "engine/forward/forward.h"

namespace inferd::engine {
namespace {

namespace json = boost::json;

constexpr std::string_view kTexts[] = {
    "The quick brown fox jumps over the lazy dog.",
    "int main() { return 0; }\n\n\ttab 12345 67",
};

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581
constexpr int64_t kForwardTokens = 8;

// SentencePiece marks spaces; a vocabulary of bytes alone gives the marks back as they are.
std::string WithoutSpaceMarks(std::string_view text) {
  if (text.starts_with(kSpaceMark)) text.remove_prefix(kSpaceMark.size());
  std::string plain;
  while (!text.empty()) {
    const bool mark = text.starts_with(kSpaceMark);
    plain += mark ? ' ' : text[0];
    text.remove_prefix(mark ? kSpaceMark.size() : 1);
  }
  return plain;
}

// Seconds of a pass over a text of so many tokens.
absl::StatusOr<double> TimePass(device::Device& device, int64_t length) {
  const model::Model& model = device.model();
  std::vector<int32_t> tokens(static_cast<size_t>(length));
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i * 31) % model.vocabulary_size();
  ASSIGN_OR_RETURN(const std::unique_ptr<cache::Sequence> sequence, device.cache().NewSequence({}));
  RETURN_IF_ERROR(device.cache().Reserve(*sequence, length));
  const bool encoder = model.spec().encoder;
  const forward::SequenceStep step{
      .sequence = sequence.get(), .tokens = tokens, .wanted = encoder ? forward::Rows::kAll : forward::Rows::kLast};
  const MonotonicTime begin = Clock::System().Now();
  ASSIGN_OR_RETURN(forward::ForwardResult result,
                   encoder ? forward::ForwardHidden(device, {&step, 1}) : forward::Forward(device, {&step, 1}));
  for (int64_t row = 0; row < result.rows(); ++row) {
    ASSIGN_OR_RETURN(const std::span<const float> values, result.Row(row));
    for (const float value : values) {
      if (!std::isfinite(value)) return FailedPrecondition("model: a forward pass gives numbers that are not finite");
    }
  }
  return std::chrono::duration<double>(Clock::System().Now() - begin).count();
}

}  // namespace

// A text's tokens stand for a text with the same tokens. (Not for the same text: WordPiece drops case and spaces.) A
// vocabulary that cannot spell a text says so with INVALID_ARGUMENT, as it does to clients: it takes token ids.
absl::Status CheckTokenizer(const tokenizer::Tokenizer& tokenizer, int32_t vocabulary_size) {
  if (tokenizer.vocabulary_size() > vocabulary_size) {
    return FailedPrecondition("tokenizer.ggml.tokens: {} tokens, but the model has embeddings of {}",
                              tokenizer.vocabulary_size(), vocabulary_size);
  }
  for (std::string_view text : kTexts) {
    const absl::StatusOr<std::vector<int32_t>> encoded = tokenizer.Encode(text, {});
    if (absl::IsInvalidArgument(encoded.status())) continue;
    RETURN_IF_ERROR(encoded.status());
    const std::vector<int32_t>& ids = *encoded;
    if (ids.empty()) return FailedPrecondition("tokenizer: the text \"{}\" has no tokens", text);
    for (int32_t id : ids) {
      if (id >= 0 && id < vocabulary_size) continue;
      return FailedPrecondition("tokenizer: token {} is not in the vocabulary of {}", id, vocabulary_size);
    }
    const std::string decoded = WithoutSpaceMarks(tokenizer.Decode(ids, /*with_special=*/false));
    ASSIGN_OR_RETURN(const std::vector<int32_t> again, tokenizer.Encode(decoded, {}));
    if (again != ids) {
      return FailedPrecondition("tokenizer: the text \"{}\" comes back as \"{}\", which has other tokens", text,
                                decoded);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<scheduler::PassTimes> CheckForward(device::Device& device) {
  const device::DeviceOptions& options = device.options();
  const int64_t room = std::min({options.context_tokens, options.max_batch_tokens, options.max_result_rows});
  scheduler::PassTimes times{.tokens = std::min<int64_t>(kForwardTokens, room)};
  ASSIGN_OR_RETURN(times.pass_seconds, TimePass(device, times.tokens));
  ASSIGN_OR_RETURN(times.step_seconds, TimePass(device, 1));
  device.cache().DropPrefixes();
  return times;
}

}  // namespace inferd::engine
