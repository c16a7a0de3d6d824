#include "engine/device/cpu/blas.h"

#include <dlfcn.h>

#include "config/base/status.h"

namespace inferd::device {
namespace {

constexpr char kLibrary[] = "libopenblas.so.0";
constexpr int kRowMajor = 101, kAsIs = 111, kTransposed = 112;  // of cblas.h

}  // namespace

absl::StatusOr<Blas> Blas::Open() {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);  // stays loaded
  if (library == nullptr) {
    return FailedPrecondition("engine.blas: {}; install the package libopenblas0-pthread, or turn the option off",
                              dlerror());
  }
  const auto set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
  const auto sgemm = reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm"));
  if (set_threads == nullptr || sgemm == nullptr) {
    return FailedPrecondition("engine.blas: {} has no {}", kLibrary,
                              sgemm == nullptr ? "cblas_sgemm" : "openblas_set_num_threads");
  }
  set_threads(1);
  return Blas(sgemm);
}

void Blas::Multiply(const FloatMatrix& x, const FloatMatrix& weights, float* out, int64_t out_stride) const {
  sgemm_(kRowMajor, kAsIs, kTransposed, static_cast<int>(x.rows), static_cast<int>(weights.rows),
         static_cast<int>(x.columns), 1.0f, x.data, static_cast<int>(x.stride), weights.data,
         static_cast<int>(weights.stride), 0.0f, out, static_cast<int>(out_stride));
}

}  // namespace inferd::device
