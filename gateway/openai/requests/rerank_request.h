// Body of POST /v1/rerank to an EmbedRequest.
//
//   ASSIGN_OR_RETURN(RerankRequest request, ParseRerankRequest(exchange.request.body));
#pragma once

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"
#include "gateway/api/embed_fields.h"

namespace inferd::gateway {

inline constexpr size_t kMostDocuments = 1024;

struct RerankRequest : EmbedFields {
  size_t top_n = kMostDocuments;
  bool return_documents = false;
};

absl::StatusOr<RerankRequest> ParseRerankRequest(std::string_view body);

}  // namespace inferd::gateway
