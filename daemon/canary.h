// Watches versions of a model that were given more traffic, by how their requests end, and gives the former weights
// back when a condition comes true.
//
//   CanaryWatch canaries(loop, fleet, [&] { PublishStatus(); });
//   ASSIGN_OR_RETURN(const RollbackCondition condition, ParseRollbackCondition("error_rate>0.05"));
//   RETURN_IF_ERROR(canaries.Begin("chat", former, condition, std::chrono::minutes(1)));   // after SetTraffic
//   canaries.Report("chat", /*version=*/2, /*requests=*/10, /*errors=*/1);
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/fleet.h"

namespace inferd::daemon {

// Share of the requests that may end with a fault of the server.
struct RollbackCondition {
  double error_rate = 0;
  std::string text;
};

// INVALID_ARGUMENT: not "error_rate>NUMBER" with a number above 0 and below 1.
absl::StatusOr<RollbackCondition> ParseRollbackCondition(std::string_view text);

// By version; as in the routing table.
using TrafficWeights = std::map<uint64_t, uint32_t>;
TrafficWeights WeightsOf(const Model& model);

class CanaryWatch {
 public:
  // Fewer requests than this within the window say nothing.
  static constexpr uint64_t kFewestRequests = 20;

  CanaryWatch(EventLoop& loop, Fleet& fleet) : loop_(loop), fleet_(fleet) {}

  // Watches the versions whose share is greater now than with the `former` weights, instead of what was watched of this
  // model. INVALID_ARGUMENT: there is none.
  absl::Status Begin(const std::string& model, const TrafficWeights& former, const RollbackCondition& condition,
                     Milliseconds window);
  void End(const std::string& model) { watches_.erase(model); }
  void Report(const std::string& model, uint64_t version, uint64_t requests, uint64_t errors);
  // After each change of the fleet: a watched version that FAILED is taken out, too; one that is gone ends the watch.
  void Check();
  void FillStatus(v1::StatusResponse& status) const;

 private:
  struct Count {
    MonotonicTime at;
    uint64_t requests = 0;
    uint64_t errors = 0;
  };
  struct Watch {
    TrafficWeights former;
    RollbackCondition condition;
    Milliseconds window{0};
    std::vector<uint64_t> versions;
    std::deque<Count> counts;  // oldest first
    void Add(const Count& count);
    Count Sum() const;
  };
  // Ends the watch.
  void RollBack(const std::string& model, const std::string& why);

  EventLoop& loop_;
  Fleet& fleet_;
  std::map<std::string, Watch> watches_;
  uint64_t rollbacks_ = 0;
  std::string last_rollback_;
};

}  // namespace inferd::daemon
