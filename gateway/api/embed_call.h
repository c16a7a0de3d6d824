// The call of the endpoints over Embed.
//
//   absl::StatusOr<v1::EmbedResponse> answer = co_await CallEmbed(serving, exchange, request, "documents");
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "gateway/api/embed_fields.h"
#include "gateway/http/exchange.h"
#include "gateway/serving/serving.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {

// Resolves the model, makes the call, which ends when the client goes, and notes the prompt's tokens. Errors name the
// field of the inputs as the endpoint does.
Task<absl::StatusOr<v1::EmbedResponse>> CallEmbed(const Serving& serving, Exchange& exchange, EmbedFields& request,
                                                  std::string_view inputs_name);

}  // namespace inferd::gateway
