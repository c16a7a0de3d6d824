// Asks the supervisor for models that are not loaded.
//
//   ModelLoader loader("unix:/run/inferd/admin.sock");
//   absl::Status status = co_await loader.EnsureLoaded("chat", executor);   // OK: the routes will say when it is ready
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "gateway/async/task.h"

namespace inferd::gateway {

class ModelLoader {
 public:
  explicit ModelLoader(const std::string& admin_target);
  ~ModelLoader();

  //   RESOURCE_EXHAUSTED it cannot fit; UNAVAILABLE, DEADLINE_EXCEEDED the supervisor does not answer
  Task<absl::Status> EnsureLoaded(std::string model, Executor executor);

 private:
  struct Stub;
  std::unique_ptr<Stub> stub_;
};

}  // namespace inferd::gateway
