// Body of POST /apply-template.
//
//   ASSIGN_OR_RETURN(ApplyTemplateFields parsed, ParseApplyTemplateRequest(exchange.request.body));
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {

struct ApplyTemplateFields {
  v1::ApplyTemplateRequest apply;
  std::string model;
  std::vector<std::string> warnings;
};

absl::StatusOr<ApplyTemplateFields> ParseApplyTemplateRequest(std::string_view body);

}  // namespace inferd::gateway
