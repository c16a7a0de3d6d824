#include "gateway/serving/served_request.h"

#include "config/api_keys.h"
#include "config/base/log.h"
#include "gateway/serving/gateway_metrics.h"

namespace inferd::gateway {
namespace {

// Asked every few seconds by those who watch; a line each would bury the rest.
bool IsProbe(std::string_view endpoint) {
  return endpoint == "/health" || endpoint == "/ready" || endpoint == "/metrics";
}

}  // namespace

bool MaySee(const ServedRequest& request, const std::string& model) {
  return request.key == nullptr || request.key->MayUse(model);
}

void FinishRequest(const ServedRequest& request, std::string_view method, GatewayMetrics& metrics) {
  const RequestRecord& record = request.record;
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - request.arrived).count();
  metrics.RequestFinished(record, seconds);
  double decoding = seconds - record.first_token_seconds;
  bool rated = record.completion_tokens > 1 && decoding > 0;
  double rate = rated ? static_cast<double>(record.completion_tokens - 1) / decoding : 0.0;
  Log(IsProbe(record.endpoint) ? LogLevel::kDebug : LogLevel::kInfo, "request",
      {{"request_id", request.request_id},
       {"method", method},
       {"endpoint", record.endpoint},
       {"status", record.status},
       {"error", record.error_code},
       {"reason", record.reason},
       {"model", record.model},
       {"key", record.key_name},
       {"prompt_tokens", record.prompt_tokens},
       {"completion_tokens", record.completion_tokens},
       {"duration_ms", seconds * 1000},
       {"first_token_ms", record.first_token_seconds * 1000},
       {"tokens_per_second", rate},
       {"client_gone", record.client_gone}});
}

}  // namespace inferd::gateway
