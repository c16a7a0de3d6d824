#include "engine/quantize/file_type.h"

namespace inferd::quantize {
namespace {

using enum kernels::TensorType;

constexpr FileType kFileTypes[] = {
    {"F32", 0, kF32},          {"F16", 1, kF16},        {"BF16", 32, kBF16},    {"Q4_0", 2, kQ4_0},
    {"Q4_1", 3, kQ4_1},        {"Q5_0", 8, kQ5_0},      {"Q5_1", 9, kQ5_1},     {"Q8_0", 7, kQ8_0},
    {"Q2_K", 10, kQ2_K},       {"Q2_K_S", 21, kQ2_K},   {"Q3_K_S", 11, kQ3_K},  {"Q3_K_M", 12, kQ3_K},
    {"Q3_K_L", 13, kQ3_K},     {"Q4_K_S", 14, kQ4_K},   {"Q4_K_M", 15, kQ4_K},  {"Q5_K_S", 16, kQ5_K},
    {"Q5_K_M", 17, kQ5_K},     {"Q6_K", 18, kQ6_K},     {"IQ1_S", 24, kIQ1_S},  {"IQ1_M", 31, kIQ1_M},
    {"IQ2_XXS", 19, kIQ2_XXS}, {"IQ2_XS", 20, kIQ2_XS}, {"IQ2_S", 28, kIQ2_XS}, {"IQ2_M", 29, kIQ2_S},
    {"IQ3_XXS", 23, kIQ3_XXS}, {"IQ3_XS", 22, kIQ3_S},  {"IQ3_S", 26, kIQ3_S},  {"IQ3_M", 27, kIQ3_S},
    {"IQ4_NL", 25, kIQ4_NL},   {"IQ4_XS", 30, kIQ4_XS}, {"TQ1_0", 36, kTQ1_0},  {"TQ2_0", 37, kTQ2_0},
    {"MXFP4", 38, kMXFP4},     {"NVFP4", 39, kNVFP4},
};

}  // namespace

std::span<const FileType> FileTypes() { return kFileTypes; }

const FileType* FindFileType(std::string_view name) {
  for (const FileType& type : kFileTypes) {
    if (name == type.name) return &type;
  }
  return nullptr;
}

std::string FileTypeNames() {
  std::string names;
  for (const FileType& type : kFileTypes) names += std::string(names.empty() ? "" : " ") + type.name;
  return names;
}

const kernels::TypeTraits* FindTensorTypeByName(std::string_view name) {
  for (uint32_t id = 0; id < 64; ++id) {
    const kernels::TypeTraits* traits = kernels::FindTensorType(id);
    if (traits != nullptr && name == traits->name) return traits;
  }
  return nullptr;
}

bool IsFloatType(kernels::TensorType type) { return type == kF32 || type == kF16 || type == kBF16; }

}  // namespace inferd::quantize
