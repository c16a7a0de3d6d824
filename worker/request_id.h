// The id that joins the log lines of all processes: of the message, else of the call's metadata (x-request-id).
//
//   std::string id = RequestIdOf(request.request_id(), context);
#pragma once

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <string>

namespace inferd::worker {

// Cut to 128 bytes.
inline std::string RequestIdOf(const std::string& of_message, const grpc::CallbackServerContext& context) {
  constexpr size_t kMostBytes = 128;
  if (!of_message.empty()) return of_message.substr(0, kMostBytes);
  const auto found = context.client_metadata().find("x-request-id");
  if (found == context.client_metadata().end()) return "";
  return std::string(found->second.data(), std::min(found->second.size(), kMostBytes));
}

}  // namespace inferd::worker
