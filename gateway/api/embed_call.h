// What the endpoints over Embed share: some of their fields, and the call that answers the exchange.
//
//   RETURN_IF_ERROR(ReadEmbedFields(fields, request));   // last of the fields
//   absl::StatusOr<v1::EmbedResponse> answer = co_await CallEmbed(serving, exchange, request, "documents");
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "gateway/http/exchange.h"
#include "gateway/json/fields.h"
#include "gateway/serving/serving.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {

struct EmbedFields {
  v1::EmbedRequest embed;
  std::string model;
  std::optional<std::chrono::milliseconds> deadline;  // from the arrival
  std::vector<std::string> warnings;
};

// All but `model` and what is embedded. What nobody has read by then becomes a warning.
absl::Status ReadEmbedFields(Fields& fields, EmbedFields& request);

// Resolves the model, makes the call, which ends when the client goes, and notes the prompt's tokens. Errors name the
// field of the inputs as the endpoint does.
Task<absl::StatusOr<v1::EmbedResponse>> CallEmbed(const Serving& serving, Exchange& exchange, EmbedFields& request,
                                                  std::string_view inputs_name);

}  // namespace inferd::gateway
