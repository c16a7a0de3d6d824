#include "daemon/canary.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "absl/strings/numbers.h"
#include "config/base/log.h"
#include "config/base/status.h"
#include "inferd/v1/admin.pb.h"

namespace inferd::daemon {
namespace {

std::string WithoutSpaces(std::string_view text) {
  std::string out(text);
  std::erase(out, ' ');
  return out;
}

uint64_t SumOf(const TrafficWeights& weights) {
  return std::accumulate(weights.begin(), weights.end(), uint64_t{0},
                         [](uint64_t sum, const auto& entry) { return sum + entry.second; });
}

double ShareOf(const TrafficWeights& weights, uint64_t version) {
  const auto found = weights.find(version);
  const uint64_t sum = SumOf(weights);
  return found == weights.end() || sum == 0 ? 0 : static_cast<double>(found->second) / static_cast<double>(sum);
}

}  // namespace

absl::StatusOr<RollbackCondition> ParseRollbackCondition(std::string_view text) {
  constexpr std::string_view kErrorRate = "error_rate>";
  RollbackCondition condition{.text = WithoutSpaces(text)};
  const bool known = condition.text.starts_with(kErrorRate);
  const std::string_view number = std::string_view(condition.text).substr(known ? kErrorRate.size() : 0);
  if (known && absl::SimpleAtod(absl::string_view(number.data(), number.size()), &condition.error_rate) &&
      condition.error_rate > 0 && condition.error_rate < 1) {
    return condition;
  }
  return InvalidField("rollback_on", "\"{}\" is not error_rate>NUMBER with a number between 0 and 1", text);
}

TrafficWeights WeightsOf(const Model& model) {
  TrafficWeights weights;
  for (const auto& version : model.versions) {
    if (version->routed) weights[version->number] = version->weight;
  }
  return weights;
}

CanaryWatch::Count CanaryWatch::Watch::Sum() const {
  Count sum;
  for (const Count& count : counts) {
    sum.requests += count.requests;
    sum.errors += count.errors;
  }
  return sum;
}

// One entry for each thousandth of the window, however often a gateway reports; their sum is far from overflow.
void CanaryWatch::Watch::Add(const Count& count) {
  constexpr int64_t kEntries = 1000;
  constexpr uint64_t kMost = 1'000'000'000'000;
  if (counts.empty() || count.at - counts.back().at > MonotonicTime::duration(window) / kEntries)
    counts.push_back({.at = count.at});
  Count& last = counts.back();
  last.requests += std::min(count.requests, kMost - last.requests);
  last.errors += std::min(count.errors, kMost - last.errors);
}

absl::Status CanaryWatch::Begin(const std::string& name, const TrafficWeights& former,
                                const RollbackCondition& condition, Milliseconds window) {
  const Model* const model = fleet_.Resolve(name);
  if (model == nullptr) return NotFound("no model \"{}\" is running", name);
  Watch watch{.former = former, .condition = condition, .window = window};
  const TrafficWeights now = WeightsOf(*model);
  for (const auto& [version, weight] : now) {
    if (ShareOf(now, version) > ShareOf(former, version)) watch.versions.push_back(version);
  }
  if (watch.versions.empty()) return InvalidField("rollback_on", "no version gets more traffic than before");
  watches_[model->options.name] = std::move(watch);
  return absl::OkStatus();
}

void CanaryWatch::Report(const std::string& model, uint64_t version, uint64_t requests, uint64_t errors) {
  const auto found = watches_.find(model);
  if (found == watches_.end()) return;
  Watch& watch = found->second;
  if (std::find(watch.versions.begin(), watch.versions.end(), version) == watch.versions.end()) return;
  const MonotonicTime now = loop_.clock().Now();
  watch.Add({now, requests, std::min(errors, requests)});
  while (now - watch.counts.front().at > watch.window) watch.counts.pop_front();
  const Count sum = watch.Sum();
  const double rate = sum.requests == 0 ? 0 : static_cast<double>(sum.errors) / static_cast<double>(sum.requests);
  if (sum.requests < kFewestRequests || rate <= watch.condition.error_rate) return;
  RollBack(model, fmt::format("{}: {} of {} requests failed", watch.condition.text, sum.errors, sum.requests));
}

void CanaryWatch::Check() {
  std::vector<std::string> ended;
  std::map<std::string, std::string> failed;
  for (const auto& [name, watch] : watches_) {
    const Model* const model = fleet_.Find(name);
    for (const uint64_t number : watch.versions) {
      const ModelVersion* const version = model == nullptr ? nullptr : model->Find(number);
      if (version == nullptr || !version->routed) {
        ended.push_back(name);
      } else if (version->process->state() == WorkerState::kFailed) {
        failed[name] = fmt::format("version {} failed: {}", number, version->process->last_error());
      }
    }
  }
  for (const auto& [name, why] : failed) RollBack(name, why);
  for (const std::string& name : ended) End(name);
}

void CanaryWatch::RollBack(const std::string& name, const std::string& why) {
  const Watch watch = std::move(watches_.at(name));
  watches_.erase(name);
  const Model& model = *fleet_.Find(name);
  uint64_t left = 0;
  for (const auto& version : model.versions) left += version->routed ? ShareOf(watch.former, version->number) > 0 : 0;
  if (left == 0) {
    LogError("cannot roll back, the former versions are gone", {{"model", name}, {"reason", why}});
    return;
  }
  ++rollbacks_;
  last_rollback_ = fmt::format("{}: {}", name, why);
  LogError("rolled back", {{"model", name}, {"reason", why}});
  fleet_.Atomically([&] {
    for (const auto& version : model.versions) {
      const auto weight = watch.former.find(version->number);
      if (version->routed) fleet_.Route(*version, weight == watch.former.end() ? 0 : weight->second);
    }
  });
}

void CanaryWatch::FillStatus(v1::StatusResponse& status) const {
  for (const auto& [name, watch] : watches_) {
    v1::CanaryStatus& out = *status.add_canaries();
    const Count sum = watch.Sum();
    out.set_model(name);
    out.set_rollback_on(watch.condition.text);
    out.mutable_versions()->Add(watch.versions.begin(), watch.versions.end());
    out.set_requests(sum.requests);
    out.set_errors(sum.errors);
  }
  status.set_rollbacks(rollbacks_);
  status.set_last_rollback(last_rollback_);
}

}  // namespace inferd::daemon
