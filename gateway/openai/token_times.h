// Times of a request's tokens, for metrics and log, and that it is being answered.
//
//   TokenTimes times(metrics, record, arrived);
//   times.Take(batch);
#pragma once

#include <optional>

#include "gateway/request_record.h"
#include "gateway/routing/generation_set.h"

namespace inferd::gateway {

class GatewayMetrics;

class TokenTimes {
 public:
  TokenTimes(GatewayMetrics& metrics, RequestRecord& record, TimePoint arrived);
  ~TokenTimes();
  TokenTimes(const TokenTimes&) = delete;
  TokenTimes& operator=(const TokenTimes&) = delete;

  void Take(const GenerationSet::Batch& batch);
  // Adds a finished choice's tokens to the record; the prompt counts once, in choice 0.
  void AddUsage(const v1::Finished& finished);

 private:
  GatewayMetrics& metrics_;
  RequestRecord& record_;
  const TimePoint arrived_;
  std::optional<TimePoint> last_;
};

}  // namespace inferd::gateway
