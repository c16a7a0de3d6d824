// What becomes of a model's versions while a command waits for its end: a line on standard error for each change.
//
//   const grpc::Status status = WithProgress(*stub, "chat", [&] { return stub->Swap(&context, request, &response); });
//
//   chat@2: LOADING
//   chat@2: READY
//   chat@1: DRAINING
#pragma once

#include <grpcpp/support/status.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "inferd/v1/admin.grpc.pb.h"

namespace inferd::daemon {

// Remembers what it has told.
class Progress {
 public:
  // `model`: name or alias; empty: all.
  explicit Progress(std::string model) : model_(std::move(model)) {}

  // Lines for what has changed since the last time; the first time none, as that is how it was before.
  std::vector<std::string> Changes(const v1::StatusResponse& status);

 private:
  bool IsMeant(const v1::WorkerStatus& worker) const;

  const std::string model_;
  bool looked_ = false;
  std::map<std::pair<std::string, uint64_t>, std::string> states_;  // of versions
};

// Runs `call` and tells meanwhile what happens.
grpc::Status WithProgress(v1::Admin::Stub& admin, const std::string& model, const std::function<grpc::Status()>& call);

}  // namespace inferd::daemon
