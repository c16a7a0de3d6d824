// Any bytes as the body of a completion, or after a first 'c' of a chat, or after an 'm' of a message in Anthropic's
// form: an error that says something, or requests that are whole messages with valid texts and bounded by the bytes
// that were sent.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "config/base/status.h"
#include "gateway/anthropic/messages_request.h"
#include "gateway/openai/requests/chat_request.h"
#include "gateway/openai/requests/completion_request.h"

namespace {

using namespace inferd;

void CheckRequest(const v1::GenerateRequest& request, size_t body_bytes) {
  std::string bytes;
  if (!request.SerializeToString(&bytes)) std::abort();
  v1::GenerateRequest again;
  if (!again.ParseFromString(bytes)) std::abort();  // texts that are not UTF-8, too
  if (bytes.size() > 16 * body_bytes + 1024) std::abort();
  if (request.choices() > 128) std::abort();
}

void CheckRefusal(const absl::Status& status) {
  if (MessageOf(status).empty() || absl::IsInternal(status)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view body(reinterpret_cast<const char*>(data), size);
  if (body.starts_with('c')) {
    body.remove_prefix(1);
    const auto chat = gateway::ParseChatRequest(body);
    chat.ok() ? CheckRequest(chat->generate, body.size()) : CheckRefusal(chat.status());
    return 0;
  }
  if (body.starts_with('m')) {
    body.remove_prefix(1);
    const auto messages = gateway::ParseMessagesRequest(body);
    messages.ok() ? CheckRequest(messages->generate, body.size()) : CheckRefusal(messages.status());
    if (messages.ok() &&
        static_cast<size_t>(messages->generate.chat().messages_size()) != messages->names.messages.size()) {
      std::abort();
    }
    return 0;
  }
  const auto completion = gateway::ParseCompletionRequest(body);
  if (!completion.ok()) {
    CheckRefusal(completion.status());
    return 0;
  }
  if (completion->generate.empty() || completion->generate.size() > gateway::kMaxPrompts) std::abort();
  for (const v1::GenerateRequest& request : completion->generate) CheckRequest(request, body.size());
  return 0;
}
