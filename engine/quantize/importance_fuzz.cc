// Any bytes as an importance file: they are refused or read, and what is read is finite and never negative.
#include <cmath>
#include <cstdlib>

#include "engine/quantize/importance.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using inferd::quantize::Importance;
  const auto importance = Importance::Parse({data, size}, "fuzz");
  if (!importance.ok()) return 0;
  const auto model = inferd::gguf::GgufFile::Parse({data, size}, "fuzz");
  if (!model.ok() || !importance->CheckModel(**model).ok()) return 0;
  for (const inferd::gguf::Tensor& tensor : (*model)->tensors()) {
    for (uint64_t matrix = 0; matrix < tensor.dims[2] * tensor.dims[3]; ++matrix) {
      const float* columns = importance->Find(tensor, matrix);
      for (uint64_t i = 0; columns != nullptr && i < tensor.dims[0]; ++i) {
        if (!std::isfinite(columns[i]) || columns[i] < 0) std::abort();
      }
    }
  }
  return 0;
}
