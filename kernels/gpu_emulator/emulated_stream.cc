#include "kernels/gpu_emulator/emulated_stream.h"

#include "kernels/gpu/operations.h"
#include "kernels/gpu_emulator/stream.h"

namespace inferd::kernels::gpu_emulator {
namespace {

class EmulatedStream final : public gpu::Operations<EmulatedStream> {
 public:
  explicit EmulatedStream(Schedule schedule) : device_(schedule), stream_(device_) {}

  const char* device_name() const override { return "emulated GPU"; }
  uint64_t progress() const override { return device_.work_done(); }
  void* Allocate(size_t bytes) override { return device_.Allocate(bytes); }
  void Free(void* memory) override { device_.Free(memory); }
  void Copy(void* to, const void* from, size_t bytes) override {
    if (bytes > 0) stream_.Copy(to, from, bytes);
  }
  const char* Wait() override {
    stream_.Wait();
    return nullptr;
  }

  template <class Kernel, class... Arguments>
  void Launch(const char* name, Kernel kernel, gpu::GridSize grid, uint32_t threads, const Arguments&... arguments) {
    stream_.Launch(name, kernel, {grid.x, grid.y, grid.z}, {threads}, arguments...);
  }

 private:
  Device device_;
  Stream stream_;
};

}  // namespace

std::unique_ptr<gpu::GpuStream> MakeEmulatedStream(Schedule schedule) {
  return std::make_unique<EmulatedStream>(schedule);
}

}  // namespace inferd::kernels::gpu_emulator
