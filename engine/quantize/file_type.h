// The file types that `quantize --type` takes: a name, its number in general.file_type and the type of most tensors.
//
//   const FileType* type = FindFileType("Q4_K_M");   // {"Q4_K_M", 15, TensorType::kQ4_K}
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kernels/quant_types.h"

namespace inferd::quantize {

struct FileType {
  const char* name;
  uint32_t id;               // general.file_type
  kernels::TensorType base;  // of tensors that the mix says nothing else of
};

std::span<const FileType> FileTypes();
const FileType* FindFileType(std::string_view name);  // nullptr: unknown
std::string FileTypeNames();                          // joined by spaces, for messages

const kernels::TypeTraits* FindTensorTypeByName(std::string_view name);  // nullptr: unknown
bool IsFloatType(kernels::TensorType type);                              // F32, F16, BF16

}  // namespace inferd::quantize
