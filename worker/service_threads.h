// What calls share: the threads beside gRPC's and the engine's, and the count of open streams.
#pragma once

#include <memory>

#include "config/base/open_calls.h"
#include "worker/delivery.h"
#include "worker/request_memory.h"
#include "worker/work_pool.h"

namespace inferd::worker {

struct ServiceThreads {
  static constexpr int kPreparationThreads = 2;
  std::unique_ptr<const RequestMemory> memory;  // once there is a model
  OpenCalls streams;                            // of Generate
  Delivery delivery;
  WorkPool preparation{kPreparationThreads};  // ends first: its work may wake the delivery
};

}  // namespace inferd::worker
