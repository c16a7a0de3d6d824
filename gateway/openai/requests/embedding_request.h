// Body of POST /v1/embeddings to an EmbedRequest.
//
//   ASSIGN_OR_RETURN(EmbeddingRequest request, ParseEmbeddingRequest(exchange.request.body));
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "gateway/api/embed_fields.h"

namespace inferd::gateway {

struct EmbeddingRequest : EmbedFields {
  bool base64 = false;
};

absl::StatusOr<EmbeddingRequest> ParseEmbeddingRequest(std::string_view body);

}  // namespace inferd::gateway
