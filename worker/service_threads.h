// The threads that calls share beside gRPC's and the engine's.
#pragma once

#include "worker/delivery.h"
#include "worker/work_pool.h"

namespace inferd::worker {

struct ServiceThreads {
  Delivery delivery;
  WorkPool preparation{2};  // ends first: its work may wake the delivery
};

}  // namespace inferd::worker
