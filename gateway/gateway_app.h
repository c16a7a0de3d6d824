// The gateway as the HTTP server sees it: the table of endpoints, who may call them, and one log line for each request.
//
//   GatewayApp app(serving, access, options);
//   HttpServer server(pool, app, http_options);
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/http/application.h"
#include "gateway/serving/serving.h"

namespace inferd::gateway {

class Access;
class MetricsPage;

class GatewayApp : public Application {
 public:
  GatewayApp(Serving serving, Access& access, MetricsPage& metrics_page);

  std::optional<Response> Refuse(Exchange& exchange) override;
  Task<void> Handle(Exchange& exchange) override;
  Response MakeError(int status, std::string_view message, Exchange& exchange) override;
  void Finished(const Exchange& exchange) override;

 private:
  struct Endpoint;
  static const std::vector<Endpoint>& Endpoints();
  static const Endpoint* Find(const Request& request);

  Task<void> WaitForRoutes(Exchange& exchange);
  Task<void> ServeMetrics(Exchange& exchange);

  const Serving serving_;
  Access& access_;
  MetricsPage& metrics_page_;
};

}  // namespace inferd::gateway
