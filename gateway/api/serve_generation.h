// Runs the generations of one request and sends their answer, as a stream or whole.
//
//   ChatAnswer answer(...);
//   co_await ServeGeneration(serving, exchange, std::move(requests), options, answer);
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "gateway/api/answer.h"
#include "gateway/http/exchange.h"
#include "gateway/serving/serving.h"

namespace inferd::gateway {

// What the gateway itself needs of a request.
struct GenerationOptions {
  bool stream = false;
  // From the request's arrival.
  std::optional<std::chrono::milliseconds> deadline;
  // Opaque id of the end user; empty: none.
  std::string user;
};

// Each request's `model` is resolved. Ends early, and ends the generations, when the client leaves.
Task<void> ServeGeneration(const Serving& serving, Exchange& exchange, std::vector<v1::GenerateRequest> requests,
                           const GenerationOptions& wanted, Answer& answer);

}  // namespace inferd::gateway
