// Deadlines of calls to other processes, from the gateway's monotonic time.
//
//   SetDeadline(context, exchange.arrived + std::chrono::milliseconds(200));
#pragma once

#include <grpcpp/client_context.h>

#include <chrono>

namespace inferd::gateway {

// time_point::max() sets none.
inline void SetDeadline(grpc::ClientContext& context, std::chrono::steady_clock::time_point deadline) {
  if (deadline == std::chrono::steady_clock::time_point::max()) return;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::microseconds>(
                                                              deadline - std::chrono::steady_clock::now()));
}

}  // namespace inferd::gateway
