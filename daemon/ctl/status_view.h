// The supervisor's status for people and for programs.
//
//   Print("{}", StatusTable(response, now));
//   Print("{}", StatusJson(response));
#pragma once

#include <string>

#include "config/base/clock.h"

namespace inferd::v1 {
class ListModelsResponse;
class StatusResponse;
}  // namespace inferd::v1

namespace inferd::daemon {

// A head line, one line a worker, and the errors.
std::string StatusTable(const v1::StatusResponse& status, WallTime now);
// One JSON object with the names of proto/inferd/v1/admin.proto; numbers are numbers.
std::string StatusJson(const v1::StatusResponse& status);

std::string ModelsTable(const v1::ListModelsResponse& models);
std::string ModelsJson(const v1::ListModelsResponse& models);

}  // namespace inferd::daemon
