// What is known of a request while it is served, whichever way it came: over HTTP it is the Exchange, over gRPC part of
// a GrpcRequest.
//
//   ASSIGN_OR_RETURN(std::string model, ResolveModel(serving, request, named));
//   ...
//   FinishRequest(request, "POST", metrics);
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/async/signal.h"
#include "gateway/serving/request_record.h"

namespace inferd::config {
struct ApiKey;
}

namespace inferd::gateway {

class GatewayMetrics;

struct ServedRequest {
  // Joins all log lines of the request.
  std::string request_id;
  TimePoint arrived = std::chrono::steady_clock::now();
  // The client's address without its port.
  std::string peer_host;
  // Whose request it is; null where no key is asked for.
  std::shared_ptr<const config::ApiKey> key;
  RequestRecord record;
};

// Whether its key may use the model of this name.
bool MaySee(const ServedRequest& request, const std::string& model);

// After the last byte: one log line, and the metrics.
void FinishRequest(const ServedRequest& request, std::string_view method, GatewayMetrics& metrics);

}  // namespace inferd::gateway
