// The turns of a conversation, whose contents are blocks, to messages of a ChatPrompt.
//
//   Conversation conversation{.prompt = *request.mutable_chat(), .places = names.messages};
//   RETURN_IF_ERROR(ReadSystem(fields, conversation));
//   RETURN_IF_ERROR(ReadTurns(fields, conversation));
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gateway/json/fields.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {

// A prompt in the making, and where each of its messages stands in the client's request (client_names.h).
struct Conversation {
  v1::ChatPrompt& prompt;
  std::vector<std::string>& places;

  // Has content, but for calls alone.
  v1::Message& Add(std::string place, std::string role);
};

// The field `system`, a text or blocks of text; INVALID_ARGUMENT names what is wrong.
absl::Status ReadSystem(Fields& fields, Conversation& conversation);

// The field `messages`, which ends with no turn of the assistant: a prompt cannot end within one. A turn of the user
// with results of tools becomes several messages.
absl::Status ReadTurns(Fields& fields, Conversation& conversation);

// The field `cache_control`, by which a client says what is worth caching: all of it is here.
absl::Status ReadCacheControl(Fields& fields);

}  // namespace inferd::gateway
