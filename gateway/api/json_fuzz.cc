// Any bytes as the body of an endpoint, which the first byte chooses: 'c' a chat, 'm' a message in Anthropic's form,
// 'e' embeddings, 'r' a ranking, 't' tokenize, 'd' detokenize, 'a' apply-template, and without one of these a
// completion. An error that says something, or requests that are whole messages with valid texts and bounded by the
// bytes that were sent.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "config/base/status.h"
#include "gateway/anthropic/messages_request.h"
#include "gateway/openai/requests/apply_template_request.h"
#include "gateway/openai/requests/chat_request.h"
#include "gateway/openai/requests/completion_request.h"
#include "gateway/openai/requests/detokenize_request.h"
#include "gateway/openai/requests/embedding_request.h"
#include "gateway/openai/requests/rerank_request.h"
#include "gateway/openai/requests/tokenize_request.h"

namespace {

using namespace inferd;

template <typename Message>
void CheckMessage(const Message& message, size_t body_bytes) {
  std::string bytes;
  if (!message.SerializeToString(&bytes)) std::abort();
  Message again;
  if (!again.ParseFromString(bytes)) std::abort();  // texts that are not UTF-8, too
  if (bytes.size() > 16 * body_bytes + 1024) std::abort();
}

void CheckRequest(const v1::GenerateRequest& request, size_t body_bytes) {
  CheckMessage(request, body_bytes);
  if (request.choices() > 128) std::abort();
}

// That clients read.
void CheckWarnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    if (warning.empty()) std::abort();
  }
}

void CheckEmbed(const gateway::EmbedFields& request, size_t body_bytes) {
  CheckMessage(request.embed, body_bytes);
  CheckWarnings(request.warnings);
  if (request.embed.inputs().empty()) std::abort();
  for (const v1::EmbedInput& input : request.embed.inputs()) {
    if (input.input_case() == v1::EmbedInput::INPUT_NOT_SET) std::abort();
  }
}

void CheckRefusal(const absl::Status& status) {
  if (MessageOf(status).empty() || absl::IsInternal(status)) std::abort();
}

void CheckMessages(std::string_view body) {
  const auto messages = gateway::ParseMessagesRequest(body);
  if (!messages.ok()) return CheckRefusal(messages.status());
  CheckRequest(messages->generate, body.size());
  const auto count = static_cast<size_t>(messages->generate.chat().messages_size());
  if (count != messages->names.messages.size()) std::abort();
}

void CheckCompletion(std::string_view body) {
  const auto completion = gateway::ParseCompletionRequest(body);
  if (!completion.ok()) return CheckRefusal(completion.status());
  if (completion->generate.empty() || completion->generate.size() > gateway::kMaxPrompts) std::abort();
  for (const v1::GenerateRequest& request : completion->generate) CheckRequest(request, body.size());
}

void CheckRerank(std::string_view body) {
  const auto rerank = gateway::ParseRerankRequest(body);
  if (!rerank.ok()) return CheckRefusal(rerank.status());
  CheckEmbed(*rerank, body.size());
  const auto documents = static_cast<size_t>(rerank->embed.inputs_size());
  if (!rerank->embed.has_query() || documents > gateway::kMostDocuments || rerank->top_n == 0) std::abort();
}

// `check` of what `parse` makes of the body.
template <typename Parse, typename Check>
void CheckBody(std::string_view body, Parse parse, Check check) {
  const auto parsed = parse(body);
  parsed.ok() ? check(*parsed) : CheckRefusal(parsed.status());
}

bool CheckNamed(char endpoint, std::string_view body) {
  switch (endpoint) {
    case 'c':
      CheckBody(body, gateway::ParseChatRequest, [&](const auto& chat) { CheckRequest(chat.generate, body.size()); });
      return true;
    case 'm':
      CheckMessages(body);
      return true;
    case 'e':
      CheckBody(body, gateway::ParseEmbeddingRequest, [&](const auto& request) { CheckEmbed(request, body.size()); });
      return true;
    case 'r':
      CheckRerank(body);
      return true;
    case 't':
      CheckBody(body, gateway::ParseTokenizeRequest, [&](const auto& parsed) {
        CheckMessage(parsed.tokenize, body.size());
        CheckWarnings(parsed.warnings);
      });
      return true;
    case 'd':
      CheckBody(body, gateway::ParseDetokenizeRequest, [&](const auto& parsed) {
        CheckMessage(parsed.detokenize, body.size());
        CheckWarnings(parsed.warnings);
      });
      return true;
    case 'a':
      CheckBody(body, gateway::ParseApplyTemplateRequest, [&](const auto& parsed) {
        CheckMessage(parsed.apply, body.size());
        CheckWarnings(parsed.warnings);
      });
      return true;
    default:
      return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  if (body.empty() || !CheckNamed(body[0], body.substr(1))) CheckCompletion(body);
  return 0;
}
