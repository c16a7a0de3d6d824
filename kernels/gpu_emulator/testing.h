// What tests of kernels for GPUs share: memory of an emulated device with the host's values, and each order of lanes.
//
//   for (const LaneOrder order : kOrders) {
//     Device device({order});
//     OnDevice<float> x(device, host);
//     LaunchAndWait(device, "Scale", {.x = 4}, {.x = 64}, [&] { Scale(x.data(), 2.0f, n, x.data()); });
//     EXPECT_EQ(x.Read(), expected);
//   }
#pragma once

#include <utility>
#include <vector>

#include "kernels/gpu_emulator/device.h"

namespace inferd::kernels::gpu_emulator {

constexpr LaneOrder kOrders[] = {LaneOrder::kForward, LaneOrder::kBackward, LaneOrder::kRandom};

// Memory of the device with a copy of the host's values.
template <class T>
class OnDevice {
 public:
  OnDevice(Device& device, const std::vector<T>& host)
      : device_(device), data_(static_cast<T*>(device.Allocate(host.size() * sizeof(T)))), n_(host.size()) {
    Stream stream(device);
    stream.Copy(data_, host.data(), n_ * sizeof(T));
    stream.Wait();
  }
  ~OnDevice() { device_.Free(data_); }
  T* data() { return data_; }
  std::vector<T> Read() {
    std::vector<T> host(n_);
    Stream stream(device_);
    stream.Copy(host.data(), data_, n_ * sizeof(T));
    stream.Wait();
    return host;
  }

 private:
  Device& device_;
  T* data_;
  size_t n_;
};

template <class Body>
void LaunchAndWait(Device& device, const char* kernel, Dimensions grid, Dimensions block, Body&& body) {
  Stream stream(device);
  stream.Launch(kernel, grid, block, std::forward<Body>(body));
  stream.Wait();
}

}  // namespace inferd::kernels::gpu_emulator
