// Body of POST /detokenize.
//
//   ASSIGN_OR_RETURN(DetokenizeFields parsed, ParseDetokenizeRequest(exchange.request.body));
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {

struct DetokenizeFields {
  v1::DetokenizeRequest detokenize;
  std::string model;
  std::vector<std::string> warnings;
};

absl::StatusOr<DetokenizeFields> ParseDetokenizeRequest(std::string_view body);

}  // namespace inferd::gateway
