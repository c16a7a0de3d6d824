// The call of Embed that answers an exchange; it ends when the client goes.
//
//   absl::StatusOr<v1::EmbedResponse> answer = co_await CallEmbed(serving, exchange, model, fields.deadline, request);
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "gateway/openai/serving.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {

// Fills in model, request id and deadline (`within`, counted from the arrival), and notes the prompt's tokens. Errors
// name the fields of EmbedRequest.
Task<absl::StatusOr<v1::EmbedResponse>> CallEmbed(const Serving& serving, Exchange& exchange, const std::string& model,
                                                  std::optional<std::chrono::milliseconds> within,
                                                  v1::EmbedRequest& request);

}  // namespace inferd::gateway
