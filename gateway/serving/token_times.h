// Times and numbers of a request's tokens, for metrics and log, and that it is being answered.
//
//   TokenTimes times(metrics, record, arrived);
//   times.Take(batch);
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "gateway/calls/generation_set.h"
#include "gateway/serving/request_record.h"

namespace inferd::gateway {

class GatewayMetrics;

class TokenTimes {
 public:
  TokenTimes(GatewayMetrics& metrics, RequestRecord& record, TimePoint arrived);
  ~TokenTimes();
  TokenTimes(const TokenTimes&) = delete;
  TokenTimes& operator=(const TokenTimes&) = delete;

  // Counts in the record what came, so that it is right however the request ends.
  void Take(const GenerationSet::Batch& batch);

 private:
  // Tokens of the event, of whatever choice.
  uint32_t Count(uint32_t prompt, const v1::GenerateEvent& event);

  GatewayMetrics& metrics_;
  RequestRecord& record_;
  const TimePoint arrived_;
  std::optional<TimePoint> last_;
  // Tokens that came, by prompt and choice, until its own sum comes.
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> counted_;
};

}  // namespace inferd::gateway
