// Tells the supervisor how the requests of each version end, on a thread of its own: what a canary is judged by.
//
//   OutcomeReporter reporter("unix:/run/inferd/admin.sock", metrics);
#pragma once

#include <memory>
#include <string>

namespace inferd::gateway {

class GatewayMetrics;

class OutcomeReporter {
 public:
  OutcomeReporter(const std::string& admin_target, GatewayMetrics& metrics);
  // Reports what is left.
  ~OutcomeReporter();

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace inferd::gateway
