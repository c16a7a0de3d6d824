// One function a check.
#include "worker/verify.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "config/base/status.h"
#include "engine/model/forward.h"
#include "inferd/v1/inference.pb.h"
#include "worker/prompt.h"

namespace inferd::worker {
namespace {

constexpr std::string_view kTexts[] = {
    "The quick brown fox jumps over the lazy dog.",
    "int main() { return 0; }\n\n\ttab 12345 67",
};

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

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

}  // namespace

// A text's tokens stand for a text with the same tokens. (Not for the same text: WordPiece drops case and spaces.)
absl::Status VerifyTokenizer(const tokenizer::Tokenizer& tokenizer, int32_t vocabulary_size) {
  for (std::string_view text : kTexts) {
    ASSIGN_OR_RETURN(const std::vector<int32_t> ids, tokenizer.Encode(text, {}));
    if (ids.empty()) return FailedPrecondition("tokenizer: the text \"{}\" has no tokens", text);
    for (int32_t id : ids) {
      if (id >= 0 && id < vocabulary_size) continue;
      return FailedPrecondition("tokenizer: token {} is not in the vocabulary of {}", id, vocabulary_size);
    }
    const std::string decoded = WithoutSpaceMarks(tokenizer.Decode(ids, /*with_special=*/false));
    ASSIGN_OR_RETURN(const std::vector<int32_t> again, tokenizer.Encode(decoded, {}));
    if (again != ids) {
      return FailedPrecondition("tokenizer: the text \"{}\" comes back as \"{}\", which has other tokens", text, decoded);
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyTemplate(const LoadedModel& model) {
  if (model.chat_template == nullptr) return absl::OkStatus();
  v1::ChatPrompt chat;
  v1::Message& message = *chat.add_messages();
  message.set_role("user");
  message.set_content("Hello");
  const std::tm date{.tm_mday = 1, .tm_year = 126};
  ASSIGN_OR_RETURN(const chat_template::RenderedPrompt prompt, RenderChat(model, chat, date));
  if (prompt.Text().find("Hello") == std::string::npos) {
    return FailedPrecondition("tokenizer.chat_template: the message \"Hello\" is not in the prompt");
  }
  return absl::OkStatus();
}

absl::Status VerifyForward(const tokenizer::Tokenizer& tokenizer, device::Device& device) {
  if (device.model().spec().encoder) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::vector<int32_t> ids, tokenizer.Encode(kTexts[0], {.add_special = true}));
  const int64_t most = std::min(device.options().context_tokens, device.options().max_batch_tokens);
  ids.resize(std::min(ids.size(), static_cast<size_t>(most)));
  ASSIGN_OR_RETURN(const std::unique_ptr<cache::Sequence> sequence, device.cache().NewSequence({}));
  RETURN_IF_ERROR(device.cache().Reserve(*sequence, static_cast<int64_t>(ids.size())));
  const model::SequenceStep step{.sequence = sequence.get(), .tokens = ids, .wanted = model::Rows::kLast};
  ASSIGN_OR_RETURN(const model::ForwardResult result, model::Forward(device, {&step, 1}));
  for (float value : result.values) {
    if (!std::isfinite(value)) return FailedPrecondition("model: a forward pass gives logits that are not finite");
  }
  return absl::OkStatus();
}

}  // namespace inferd::worker
