// The fields that the endpoints over Embed share.
//
//   RETURN_IF_ERROR(ReadEmbedFields(fields, request));   // last of the fields
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gateway/json/fields.h"
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

}  // namespace inferd::gateway
