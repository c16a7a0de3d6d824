#include "gateway/serving/gateway_metrics.h"

#include <fmt/format.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "gateway/serving/request_record.h"

namespace inferd::gateway {
namespace {

using prometheus::Histogram;

// Seconds. Tokens come in milliseconds, answers in up to minutes.
const Histogram::BucketBoundaries kLatencyBuckets{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                  0.5,   1,      2.5,   5,    10,    30,   60,  120};
const Histogram::BucketBoundaries kTokenBuckets{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05,
                                                0.075,  0.1,   0.15,   0.25,  0.5,  1,    2.5,  10};

// Of requests that name no model that exists: whatever clients write there, it is one label.
const std::string kNoModel = "unknown";

template <typename Builder>
auto& Named(Builder builder, const char* name, const char* help, prometheus::Registry& registry) {
  return builder.Name(name).Help(help).Register(registry);
}

}  // namespace

struct GatewayMetrics::Families {
  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& requests =
      Named(prometheus::BuildCounter(), "inferd_requests_total",
            "Requests answered, by endpoint, status and error code.", registry);
  prometheus::Family<prometheus::Counter>& client_gone =
      Named(prometheus::BuildCounter(), "inferd_client_disconnects_total",
            "Requests whose client left before the answer was complete.", registry);
  prometheus::Family<prometheus::Counter>& prompt_tokens =
      Named(prometheus::BuildCounter(), "inferd_request_prompt_tokens_total", "Prompt tokens of answered requests.",
            registry);
  prometheus::Family<prometheus::Counter>& completion_tokens =
      Named(prometheus::BuildCounter(), "inferd_request_completion_tokens_total",
            "Tokens generated for answered requests.", registry);
  prometheus::Family<prometheus::Counter>& resumed =
      Named(prometheus::BuildCounter(), "inferd_requests_resumed_total",
            "Requests that went on on another worker process after theirs had died or been withdrawn.", registry);
  prometheus::Family<prometheus::Counter>& by_version = Named(
      prometheus::BuildCounter(), "inferd_version_requests_total",
      "Requests that a version of a model accepted, by result: ok, error (the server's) or gone (the client left).",
      registry);
  prometheus::Family<Histogram>& version_duration =
      Named(prometheus::BuildHistogram(), "inferd_version_request_duration_seconds",
            "As inferd_request_duration_seconds, by version of the model.", registry);
  prometheus::Family<Histogram>& version_first_token =
      Named(prometheus::BuildHistogram(), "inferd_version_time_to_first_token_seconds",
            "As inferd_time_to_first_token_seconds, by version of the model.", registry);
  prometheus::Family<Histogram>& duration =
      Named(prometheus::BuildHistogram(), "inferd_request_duration_seconds",
            "Time from a request's head to the last byte of its answer.", registry);
  prometheus::Family<Histogram>& first_token = Named(prometheus::BuildHistogram(), "inferd_time_to_first_token_seconds",
                                                     "Time from a request's head to its first token.", registry);
  prometheus::Family<Histogram>& inter_token = Named(prometheus::BuildHistogram(), "inferd_inter_token_latency_seconds",
                                                     "Time between a request's tokens after the first.", registry);
  prometheus::Family<prometheus::Gauge>& active =
      Named(prometheus::BuildGauge(), "inferd_requests_active", "Generations that the gateway is answering.", registry);
};

GatewayMetrics::GatewayMetrics() : families_(std::make_unique<Families>()) {}
GatewayMetrics::~GatewayMetrics() = default;

void GatewayMetrics::RequestFinished(const RequestRecord& record, double seconds) {
  const std::string& model = record.model.empty() ? kNoModel : record.model;
  families_->requests
      .Add({{"model", model},
            {"endpoint", record.endpoint},
            {"status", fmt::to_string(record.status)},
            {"code", record.error_code}})
      .Increment();
  if (record.version != 0) CountVersion(record, seconds);
  if (record.client_gone) families_->client_gone.Add({{"model", model}}).Increment();
  families_->duration.Add({{"model", model}, {"endpoint", record.endpoint}}, kLatencyBuckets).Observe(seconds);
  if (record.prompt_tokens > 0) {
    families_->prompt_tokens.Add({{"model", model}}).Increment(static_cast<double>(record.prompt_tokens));
  }
  if (record.completion_tokens > 0) {
    families_->completion_tokens.Add({{"model", model}}).Increment(static_cast<double>(record.completion_tokens));
  }
}

void GatewayMetrics::CountVersion(const RequestRecord& record, double seconds) {
  // An error in the middle of a stream comes under status 200.
  const bool failed =
      !record.client_gone && (record.status >= 500 || (record.status == 200 && !record.error_code.empty()));
  const std::map<std::string, std::string> labels{{"model", record.model}, {"version", fmt::to_string(record.version)}};
  std::map<std::string, std::string> with_result = labels;
  with_result["result"] = record.client_gone ? "gone" : failed ? "error" : "ok";
  families_->by_version.Add(with_result).Increment();
  families_->version_duration.Add(labels, kLatencyBuckets).Observe(seconds);
  if (record.first_token_seconds > 0) {
    families_->version_first_token.Add(labels, kLatencyBuckets).Observe(record.first_token_seconds);
  }
  PutBack({{.model = record.model, .version = record.version, .requests = 1, .errors = failed ? 1u : 0u}});
}

std::vector<GatewayMetrics::Outcome> GatewayMetrics::TakeOutcomes() {
  std::vector<Outcome> taken;
  absl::MutexLock lock(&mutex_);
  for (auto& [key, outcome] : outcomes_) taken.push_back(std::move(outcome));
  outcomes_.clear();
  return taken;
}

void GatewayMetrics::PutBack(const std::vector<Outcome>& outcomes) {
  absl::MutexLock lock(&mutex_);
  for (const Outcome& outcome : outcomes) {
    Outcome& sum = outcomes_[{outcome.model, outcome.version}];
    sum.model = outcome.model;
    sum.version = outcome.version;
    sum.requests += outcome.requests;
    sum.errors += outcome.errors;
  }
}

void GatewayMetrics::FirstToken(const std::string& model, double seconds) {
  families_->first_token.Add({{"model", model}}, kLatencyBuckets).Observe(seconds);
}

void GatewayMetrics::InterToken(const std::string& model, double seconds) {
  families_->inter_token.Add({{"model", model}}, kTokenBuckets).Observe(seconds);
}

void GatewayMetrics::StreamStarted(const std::string& model) { families_->active.Add({{"model", model}}).Increment(); }
void GatewayMetrics::StreamEnded(const std::string& model) { families_->active.Add({{"model", model}}).Decrement(); }
void GatewayMetrics::Resumed(const std::string& model) { families_->resumed.Add({{"model", model}}).Increment(); }

std::vector<prometheus::MetricFamily> GatewayMetrics::Collect() const { return families_->registry.Collect(); }

}  // namespace inferd::gateway
