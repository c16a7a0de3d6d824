// Body of POST /tokenize.
//
//   ASSIGN_OR_RETURN(TokenizeFields parsed, ParseTokenizeRequest(exchange.request.body));
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {

struct TokenizeFields {
  v1::TokenizeRequest tokenize;
  const char* text_name = "content";  // as the client calls it
  std::string model;
  std::vector<std::string> warnings;
};

absl::StatusOr<TokenizeFields> ParseTokenizeRequest(std::string_view body);

}  // namespace inferd::gateway
