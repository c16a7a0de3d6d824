// Body of POST /v1/messages to GenerateRequest.
//
//   absl::StatusOr<MessagesRequest> messages = co_await ParseBody(serving, exchange.request.body,
//   ParseMessagesRequest);
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "gateway/anthropic/client_names.h"
#include "gateway/api/serve_generation.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {

struct MessagesRequest {
  v1::GenerateRequest generate;
  GenerationOptions options;
  // Empty: not given.
  std::string model;
  ClientNames names;
  // Thoughts come without their text.
  bool omits_thinking = false;
  std::vector<std::string> warnings;
};

// INVALID_ARGUMENT names the field.
absl::StatusOr<MessagesRequest> ParseMessagesRequest(std::string_view body);

// The same of POST /v1/messages/count_tokens, which has no max_tokens.
absl::StatusOr<MessagesRequest> ParseCountTokensRequest(std::string_view body);

}  // namespace inferd::gateway
