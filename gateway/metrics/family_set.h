// Metric families in the making: values are added by name, in any order, and come out as one family a name.
//
//   FamilySet families(registry.Collect());
//   families.Gauge("inferd_up", "1 if the process answers.", {{"model", "chat"}}, 1);
#pragma once

#include <prometheus/metric_family.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace inferd::gateway {

class FamilySet {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  explicit FamilySet(std::vector<prometheus::MetricFamily> families = {});

  void Gauge(const std::string& name, const std::string& help, const Labels& labels, double value);
  void Counter(const std::string& name, const std::string& help, const Labels& labels, double value);
  // `counts` of the buckets, not cumulative; the last one is beyond all bounds.
  void Histogram(const std::string& name, const std::string& help, const Labels& labels,
                 const std::vector<double>& bounds, const std::vector<uint64_t>& counts, double sum);

  // Drops what is labelled with a model that is not to be seen; what is of none stays.
  void KeepModels(const std::function<bool(const std::string&)>& may_see);

  std::vector<prometheus::MetricFamily> Release();

 private:
  // Null if the name is already used by a family of another type.
  prometheus::ClientMetric* Add(const std::string& name, const std::string& help, prometheus::MetricType type,
                                const Labels& labels);

  std::map<std::string, prometheus::MetricFamily> families_;
};

}  // namespace inferd::gateway
