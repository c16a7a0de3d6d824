// What the gateway itself counts; all with a `model` label ("unknown" where a request named none that exists).
//
//   GatewayMetrics metrics;
//   metrics.RequestFinished(exchange.record, seconds);
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace prometheus {
struct MetricFamily;
}

namespace inferd::gateway {

struct RequestRecord;

class GatewayMetrics {
 public:
  GatewayMetrics();
  ~GatewayMetrics();

  void RequestFinished(const RequestRecord& record, double seconds);
  void FirstToken(const std::string& model, double seconds);
  // Between two deliveries of tokens to one client, per token.
  void InterToken(const std::string& model, double seconds);
  void StreamStarted(const std::string& model);
  void StreamEnded(const std::string& model);
  // A stream that went on after a worker's death.
  void Resumed(const std::string& model);

  std::vector<prometheus::MetricFamily> Collect() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace inferd::gateway
