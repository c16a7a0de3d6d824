// What the other processes tell about themselves, as metrics.
//
//   AddWorker("chat", 1, &stats, families);     // null stats: it did not answer, inferd_up 0 alone
#pragma once

#include <cstdint>
#include <string>

#include "gateway/metrics/family_set.h"

namespace inferd::v1 {
class StatsResponse;
class StatusResponse;
}  // namespace inferd::v1

namespace inferd::gateway {

void AddGatewayProcess(FamilySet& families);
void AddWorker(const std::string& model, uint64_t version, const v1::StatsResponse* stats, FamilySet& families);
void AddSupervisor(const v1::StatusResponse* status, FamilySet& families);

}  // namespace inferd::gateway
