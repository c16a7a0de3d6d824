// Memory of a GPU that frees itself, and arrays that follow the host's.
//
//   ASSIGN_OR_RETURN(DeviceMemory memory, DeviceMemory::Take(stream, bytes));
//   DeviceArray<int32_t> positions(stream);
//   positions.host().push_back(7);
//   RETURN_IF_ERROR(positions.Upload());          // enqueued: host() stays as it is until the stream was waited for
//   kernel(positions.data());
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "config/base/status.h"
#include "kernels/gpu/gpu_stream.h"

namespace inferd::device {

class DeviceMemory {
 public:
  static absl::StatusOr<DeviceMemory> Take(kernels::gpu::GpuStream& stream, int64_t bytes) {
    void* const data = stream.Allocate(static_cast<size_t>(std::max<int64_t>(bytes, 16)));
    if (data == nullptr) return ResourceExhausted("{}: no room for {} bytes", stream.device_name(), bytes);
    return DeviceMemory(stream, data);
  }
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept
      : stream_(std::exchange(other.stream_, nullptr)), data_(std::exchange(other.data_, nullptr)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(stream_, other.stream_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~DeviceMemory() {
    if (data_ != nullptr) stream_->Free(data_);
  }
  template <typename T>
  T* As() const {
    return static_cast<T*>(data_);
  }

 private:
  DeviceMemory(kernels::gpu::GpuStream& stream, void* data) : stream_(&stream), data_(data) {}

  kernels::gpu::GpuStream* stream_ = nullptr;
  void* data_ = nullptr;
};

// Memory that is taken anew where more is needed than before; what it held is lost then.
class GrowingMemory {
 public:
  explicit GrowingMemory(kernels::gpu::GpuStream& stream) : stream_(stream) {}

  // RESOURCE_EXHAUSTED. No work that was enqueued before uses the memory.
  absl::Status Reserve(int64_t bytes) {
    if (bytes <= capacity_) return absl::OkStatus();
    capacity_ = std::max(bytes, 2 * capacity_);
    memory_ = DeviceMemory();
    ASSIGN_OR_RETURN(memory_, DeviceMemory::Take(stream_, capacity_));
    return absl::OkStatus();
  }
  template <typename T>
  T* As() const {
    return memory_.As<T>();
  }

 private:
  kernels::gpu::GpuStream& stream_;
  DeviceMemory memory_;
  int64_t capacity_ = 0;
};

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(kernels::gpu::GpuStream& stream) : stream_(stream), memory_(stream) {}

  std::vector<T>& host() { return host_; }
  const std::vector<T>& host() const { return host_; }
  const T* data() const { return memory_.As<T>(); }
  // RESOURCE_EXHAUSTED. No work that was enqueued before uses the array.
  absl::Status Upload() {
    const auto bytes = static_cast<int64_t>(host_.size() * sizeof(T));
    RETURN_IF_ERROR(memory_.Reserve(bytes));
    stream_.Copy(memory_.As<T>(), host_.data(), static_cast<size_t>(bytes));
    return absl::OkStatus();
  }

 private:
  kernels::gpu::GpuStream& stream_;
  std::vector<T> host_;
  GrowingMemory memory_;
};

}  // namespace inferd::device
