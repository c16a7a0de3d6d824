// Any bytes as a model file: they are refused or read, and what is read lies within them.
#include <cstdlib>

#include "engine/gguf/gguf_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = inferd::gguf::GgufFile::Parse({data, size}, "fuzz");
  if (!file.ok()) return 0;
  uint64_t sum = 0;
  for (const inferd::gguf::Tensor& tensor : (*file)->tensors()) {
    if (tensor.data < data || tensor.data + tensor.bytes > data + size || tensor.bytes == 0) std::abort();
    sum += tensor.data[0] + tensor.data[tensor.bytes - 1];
  }
  for (const inferd::gguf::Entry& entry : (*file)->entries()) {
    if ((*file)->Find(entry.key) == nullptr) std::abort();
    sum += (*file)->GetInts(entry.key).ok() + (*file)->GetFloats(entry.key).ok() + (*file)->GetUint(entry.key).ok();
  }
  return sum == 0x1234567890abcdef ? 1 : 0;  // keeps the reads
}
