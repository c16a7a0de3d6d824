#include "gateway/metrics/family_set.h"

#include <algorithm>
#include <limits>

namespace inferd::gateway {

FamilySet::FamilySet(std::vector<prometheus::MetricFamily> families) {
  for (prometheus::MetricFamily& family : families) {
    if (!family.metric.empty()) families_.emplace(family.name, std::move(family));
  }
}

prometheus::ClientMetric* FamilySet::Add(const std::string& name, const std::string& help, prometheus::MetricType type,
                                         const Labels& labels) {
  prometheus::MetricFamily& family = families_[name];
  if (family.metric.empty()) {
    family.name = name;
    family.help = help;
    family.type = type;
  }
  if (family.type != type) return nullptr;
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  for (const auto& [label, value] : labels) metric.label.push_back({label, value});
  return &metric;
}

void FamilySet::Gauge(const std::string& name, const std::string& help, const Labels& labels, double value) {
  if (auto* metric = Add(name, help, prometheus::MetricType::Gauge, labels)) metric->gauge.value = value;
}

void FamilySet::Counter(const std::string& name, const std::string& help, const Labels& labels, double value) {
  if (auto* metric = Add(name, help, prometheus::MetricType::Counter, labels)) metric->counter.value = value;
}

void FamilySet::Histogram(const std::string& name, const std::string& help, const Labels& labels,
                          const std::vector<double>& bounds, const std::vector<uint64_t>& counts, double sum) {
  if (counts.size() != bounds.size() + 1) return;
  auto* metric = Add(name, help, prometheus::MetricType::Histogram, labels);
  if (metric == nullptr) return;
  uint64_t cumulative = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    cumulative += counts[i];
    double bound = i < bounds.size() ? bounds[i] : std::numeric_limits<double>::infinity();
    metric->histogram.bucket.push_back({cumulative, bound});
  }
  metric->histogram.sample_count = cumulative;
  metric->histogram.sample_sum = sum;
}

void FamilySet::KeepModels(const std::function<bool(const std::string&)>& may_see) {
  for (auto& [name, family] : families_) {
    std::erase_if(family.metric, [&](const prometheus::ClientMetric& metric) {
      return std::any_of(metric.label.begin(), metric.label.end(), [&](const prometheus::ClientMetric::Label& label) {
        return label.name == "model" && !label.value.empty() && !may_see(label.value);
      });
    });
  }
  std::erase_if(families_, [](const auto& entry) { return entry.second.metric.empty(); });
}

std::vector<prometheus::MetricFamily> FamilySet::Release() {
  std::vector<prometheus::MetricFamily> families;
  for (auto& [name, family] : families_) families.push_back(std::move(family));
  families_.clear();
  return families;
}

}  // namespace inferd::gateway
