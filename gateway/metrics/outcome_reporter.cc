#include "gateway/metrics/outcome_reporter.h"

#include <grpcpp/grpcpp.h>

#include <vector>

#include "config/base/repeating_thread.h"
#include "gateway/routing/worker_pool.h"
#include "gateway/serving/gateway_metrics.h"
#include "inferd/v1/admin.grpc.pb.h"

namespace inferd::gateway {
namespace {

constexpr Milliseconds kInterval{500};
constexpr std::chrono::seconds kDeadline{2};

}  // namespace

class OutcomeReporter::Loop {
 public:
  Loop(const std::string& target, GatewayMetrics& metrics)
      : metrics_(metrics),
        stub_(v1::Admin::NewStub(MakeChannel(target))),
        thread_([this] { return ReportAndRest(); }) {}

  ~Loop() {
    thread_.Stop();
    ReportAndRest();
  }

 private:
  Milliseconds ReportAndRest() {
    const std::vector<GatewayMetrics::Outcome> outcomes = metrics_.TakeOutcomes();
    // Later, unless the supervisor knows no such reports.
    if (!outcomes.empty() && Report(outcomes).error_code() == grpc::StatusCode::UNAVAILABLE) {
      metrics_.PutBack(outcomes);
    }
    return kInterval;
  }

  grpc::Status Report(const std::vector<GatewayMetrics::Outcome>& outcomes) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    v1::ReportOutcomesRequest request;
    for (const GatewayMetrics::Outcome& outcome : outcomes) {
      v1::VersionOutcomes& out = *request.add_outcomes();
      out.set_model(outcome.model);
      out.set_version(outcome.version);
      out.set_requests(outcome.requests);
      out.set_errors(outcome.errors);
    }
    v1::ReportOutcomesResponse response;
    return stub_->ReportOutcomes(&context, request, &response);
  }

  GatewayMetrics& metrics_;
  std::unique_ptr<v1::Admin::Stub> stub_;
  RepeatingThread thread_;
};

OutcomeReporter::OutcomeReporter(const std::string& target, GatewayMetrics& metrics)
    : loop_(std::make_unique<Loop>(target, metrics)) {}

OutcomeReporter::~OutcomeReporter() = default;

}  // namespace inferd::gateway
