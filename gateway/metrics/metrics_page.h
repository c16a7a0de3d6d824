// GET /metrics: what the gateway counts, what each worker tells (Worker.Stats) and what the supervisor tells
// (Admin.Status). Whoever does not answer within kDeadline shows as inferd_up 0 and is not waited for.
//
//   std::string page = co_await metrics_page.Render(exchange.executor(), exchange.key.get());
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "gateway/async/task.h"

namespace inferd::config {
struct ApiKey;
}

namespace inferd::gateway {

class GatewayMetrics;
struct Upstream;

class MetricsPage {
 public:
  // `admin_target` empty: no supervisor. `for_all`: a key that is limited to some models reads what all have.
  MetricsPage(const GatewayMetrics& metrics, Upstream& upstream, const std::string& admin_target, bool for_all);
  ~MetricsPage();

  // Without the models that `key` may not use; null: with all.
  Task<std::string> Render(Executor executor, const config::ApiKey* key);

  static constexpr std::chrono::milliseconds kDeadline{200};

 private:
  struct Sources;
  const GatewayMetrics& metrics_;
  Upstream& upstream_;
  std::unique_ptr<Sources> sources_;
  const bool for_all_;
};

}  // namespace inferd::gateway
