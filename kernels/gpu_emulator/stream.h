// Streams of an emulated GPU, which do their work as late as they may.
//
//   Stream stream(device);
//   stream.Copy(x, host, n * sizeof(float));
//   stream.Launch("Scale", Scale, {.x = 4}, {.x = 64}, x, 2.0f, n, x);
//   stream.Copy(host, x, n * sizeof(float));
//   stream.Wait();                               // host has the result, not before
//
// Wrong use ends the process: a launch that the device would refuse, pointers of the host as arguments of kernels,
// copies beyond an allocation, a stream that is destroyed with work that nobody waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <vector>

#include "kernels/gpu_emulator/device.h"
#include "kernels/gpu_emulator/pointers.h"

namespace inferd::kernels::gpu_emulator {

using Work = std::function<void()>;

// Work of a stream, recorded once and run as often as one likes. Arguments are those of the recording.
class Graph {
 private:
  friend class Stream;
  std::vector<Work> work_;
};

struct WorkQueue {
  std::deque<Work> pending;
  size_t done = 0;  // of all that was ever put; pending follows
};

// A place in a stream's work.
class Event {
 private:
  friend class Stream;
  std::shared_ptr<WorkQueue> queue_;
  size_t position_ = 0;
};

class Stream {
 public:
  explicit Stream(Device& device) : device_(device), queue_(std::make_shared<WorkQueue>()) {}
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // A kernel with a copy of its arguments.
  template <uint32_t kMost, class... Parameters>
  void Launch(const char* name, void (*kernel)(MostThreads<kMost>, Parameters...), Dimensions grid, Dimensions block,
              const std::type_identity_t<Parameters>&... arguments) {
    static_assert((std::is_trivially_copyable_v<Parameters> && ...), "arguments are copied to the device as bytes");
    static_assert((!std::is_reference_v<Parameters> && ...), "a device cannot follow a reference");
    Put([=, &device = device_, values = std::tuple<Parameters...>(arguments...)] {
      const auto check = [&](const void* pointer, bool to_pointers) {
        CheckPointer(device, name, pointer, to_pointers);
      };
      std::apply([&](const Parameters&... value) { (VisitPointers(value, check), ...); }, values);
      RunGrid(name, kMost, grid, block, device.schedule(),
              [&] { std::apply([&](Parameters... value) { kernel({}, value...); }, values); });
    });
  }
  void Copy(void* to, const void* from, size_t bytes);  // between host and device, or within
  void Fill(void* to, uint8_t value, size_t bytes);
  void Record(Event& event);
  void WaitFor(const Event& event);  // what is put after this starts after the event; the host does not wait
  void Run(const Graph& graph);

  void BeginCapture();  // until EndCapture, work is recorded, not put
  Graph EndCapture();

  void Wait();  // the host waits for all work so far

 private:
  void Put(Work work);
  static void RunUntil(Device& device, WorkQueue& queue, size_t position);
  static void CheckPointer(const Device& device, const char* kernel, const void* pointer, bool to_pointers);

  Device& device_;
  std::shared_ptr<WorkQueue> queue_;
  bool capturing_ = false;
  Graph captured_;
};

}  // namespace inferd::kernels::gpu_emulator
