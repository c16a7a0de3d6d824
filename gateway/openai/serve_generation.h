// Runs the generations of one request and sends their answer, as a stream or whole.
//
//   ChatAnswer answer(...);
//   co_await ServeGeneration(serving, exchange, std::move(requests), common, answer);
#pragma once

#include <vector>

#include "gateway/http/exchange.h"
#include "gateway/openai/answers/answer.h"
#include "gateway/openai/requests/generation_fields.h"
#include "gateway/serving/serving.h"

namespace inferd::gateway {

// Each request's `model` is resolved. Ends early, and ends the generations, when the client leaves.
Task<void> ServeGeneration(const Serving& serving, Exchange& exchange, std::vector<v1::GenerateRequest> requests,
                           const GenerationFields& common, Answer& answer);

}  // namespace inferd::gateway
