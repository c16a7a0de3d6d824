// The endpoints, one file each. A handler answers its exchange; refusals of path, method, key and content type came
// before (gateway.cc).
#pragma once

#include "gateway/http/exchange.h"
#include "gateway/serving/serving.h"

namespace inferd::gateway {

Task<void> ServeChatCompletions(const Serving& serving, Exchange& exchange);  // POST /v1/chat/completions
Task<void> ServeCompletions(const Serving& serving, Exchange& exchange);      // POST /v1/completions
Task<void> ServeEmbeddings(const Serving& serving, Exchange& exchange);       // POST /v1/embeddings
Task<void> ServeRerank(const Serving& serving, Exchange& exchange);           // POST /v1/rerank
Task<void> ServeModels(const Serving& serving, Exchange& exchange);           // GET /v1/models
Task<void> ServeModel(const Serving& serving, Exchange& exchange);            // GET /v1/models/{id}
Task<void> ServeTokenize(const Serving& serving, Exchange& exchange);         // POST /tokenize
Task<void> ServeDetokenize(const Serving& serving, Exchange& exchange);       // POST /detokenize
Task<void> ServeApplyTemplate(const Serving& serving, Exchange& exchange);    // POST /apply-template
Task<void> ServeHealth(const Serving& serving, Exchange& exchange);           // GET /health
Task<void> ServeVersion(const Serving& serving, Exchange& exchange);          // GET /version
Task<void> ServeReady(const Serving& serving, Exchange& exchange);            // GET /ready

}  // namespace inferd::gateway
