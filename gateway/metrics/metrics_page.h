// GET /metrics: what the gateway counts, what each worker tells (Worker.Stats) and what the supervisor tells
// (Admin.Status). Whoever does not answer within kDeadline shows as inferd_up 0 and is not waited for.
//
//   std::string page = co_await metrics_page.Render(exchange.executor());
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "gateway/http/task.h"

namespace inferd::gateway {

class GatewayMetrics;
struct Upstream;

class MetricsPage {
 public:
  // `admin_target` empty: no supervisor.
  MetricsPage(const GatewayMetrics& metrics, Upstream& upstream, const std::string& admin_target);
  ~MetricsPage();

  Task<std::string> Render(Executor executor);

  static constexpr std::chrono::milliseconds kDeadline{200};

 private:
  struct Sources;
  const GatewayMetrics& metrics_;
  Upstream& upstream_;
  std::unique_ptr<Sources> sources_;
};

}  // namespace inferd::gateway
