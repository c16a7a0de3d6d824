// What calls share: the threads beside gRPC's and the engine's, and the count of open streams.
#pragma once

#include "config/base/open_calls.h"
#include "worker/delivery.h"
#include "worker/work_pool.h"

namespace inferd::worker {

struct ServiceThreads {
  OpenCalls streams;  // of Generate
  Delivery delivery;
  WorkPool preparation{2};  // ends first: its work may wake the delivery
};

}  // namespace inferd::worker
