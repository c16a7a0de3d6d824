// What the log line and the metrics of a request say.
//
//   request.record.model = "chat";
#pragma once

#include <cstdint>
#include <string>

namespace inferd::gateway {

struct RequestRecord {
  // Path of the endpoint, or "grpc Generate"; empty where there is none.
  std::string endpoint;
  // Empty until it is known that the model exists.
  std::string model;
  // Of the model, that accepted the request; 0: none did.
  uint64_t version = 0;
  // Name of the API key, never the key.
  std::string key_name;
  // Short code of the error table, empty on success.
  std::string error_code;
  // Of an internal error, for the log alone; empty: none.
  std::string reason;
  uint64_t prompt_tokens = 0;
  uint64_t completion_tokens = 0;
  double first_token_seconds = 0;
  // Of HTTP, also for gRPC (by the error table).
  int status = 0;
  bool client_gone = false;
};

}  // namespace inferd::gateway
