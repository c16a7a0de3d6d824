// The endpoints of Anthropic's API, one file each. A handler answers its exchange; refusals of path, method, key and
// content type came before (gateway_app.cc).
#pragma once

#include "gateway/http/exchange.h"
#include "gateway/serving/serving.h"

namespace inferd::gateway {

Task<void> ServeMessages(const Serving& serving, Exchange& exchange);         // POST /v1/messages
Task<void> ServeCountTokens(const Serving& serving, Exchange& exchange);      // POST /v1/messages/count_tokens
Task<void> ServeAnthropicModels(const Serving& serving, Exchange& exchange);  // GET /v1/models
Task<void> ServeAnthropicModel(const Serving& serving, Exchange& exchange);   // GET /v1/models/{id}

}  // namespace inferd::gateway
