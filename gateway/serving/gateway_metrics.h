// What the gateway itself counts; all with a `model` label ("unknown" where a request named none that exists).
//
//   GatewayMetrics metrics;
//   metrics.RequestFinished(exchange.record, seconds);
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"

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

  // How requests ended since the last call, by model and version.
  struct Outcome {
    std::string model;
    uint64_t version = 0;
    uint64_t requests = 0;
    uint64_t errors = 0;
  };
  std::vector<Outcome> TakeOutcomes();
  // Those that could not be passed on: taken again.
  void PutBack(const std::vector<Outcome>& outcomes);

  std::vector<prometheus::MetricFamily> Collect() const;

 private:
  struct Families;
  void CountVersion(const RequestRecord& record, double seconds);
  std::unique_ptr<Families> families_;
  absl::Mutex mutex_;
  std::map<std::pair<std::string, uint64_t>, Outcome> outcomes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace inferd::gateway
