// What tests of kernels for GPUs share: memory of an emulated device with the host's values, and each order of lanes.
//
//   for (const LaneOrder order : kOrders) {
//     Device device({order});
//     OnDevice<float> x(device, host);
//     Launcher(device, "Scale", {.x = 4}, {.x = 64})(Scale, x.data(), 2.0f, n, x.data());
//     EXPECT_EQ(x.Read(), expected);
//   }
#pragma once

#include <type_traits>
#include <vector>

#include "kernels/gpu_emulator/stream.h"

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

// launch(kernel, arguments...) runs it over the grid and waits.
class Launcher {
 public:
  Launcher(Device& device, const char* name, Dimensions grid, Dimensions block)
      : device_(device), name_(name), grid_(grid), block_(block) {}
  template <uint32_t kMost, class... Parameters>
  void operator()(void (*kernel)(MostThreads<kMost>, Parameters...),
                  const std::type_identity_t<Parameters>&... arguments) const {
    Stream stream(device_);
    stream.Launch(name_, kernel, grid_, block_, arguments...);
    stream.Wait();
  }

 private:
  Device& device_;
  const char* name_;
  Dimensions grid_, block_;
};

}  // namespace inferd::kernels::gpu_emulator
