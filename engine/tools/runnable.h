// A model file opened and put on a device, as the verbs that compute need it.
//
//   ASSIGN_OR_RETURN(Runnable runnable, OpenRunnable(path, {.threads = 2, .tokens = 512}));
//   ASSIGN_OR_RETURN(auto sequence, runnable.device->cache().NewSequence({}));
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "engine/device/factory/device_factory.h"
#include "engine/model/model.h"

namespace inferd::tools {

struct RunnableOptions {
  int32_t threads = 0;   // 0: the cores this process may use
  int64_t tokens = 512;  // longest sequence; the KV pool is sized for `sequences` of them
  int64_t sequences = 1;
  int64_t batch_tokens = 512;
  int64_t result_rows = 64;
  kernels::CacheType cache_type = kernels::CacheType::kF16;
  bool blas = false;  // as in device::CpuOptions
};

struct Runnable {
  std::shared_ptr<const model::Model> model;
  std::unique_ptr<device::Device> device;
  int32_t threads = 0;  // that it uses
};

// Name of the kernel variant that INFERD_ISA asks for; empty: the best that this CPU runs.
absl::StatusOr<std::string> ChosenIsa();

// Errors of the file, the model and the device; INVALID_ARGUMENT if `tokens` exceeds what the model was trained for.
absl::StatusOr<Runnable> OpenRunnable(const std::string& path, const RunnableOptions& options);
absl::StatusOr<Runnable> MakeRunnable(std::shared_ptr<const model::Model> model, const RunnableOptions& options);

}  // namespace inferd::tools
