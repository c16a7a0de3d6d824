// Kernel variants of x86-64 and the CPUID questions that decide whether this CPU runs them.
#include <cpuid.h>

#include <cstdint>

#include "kernels/variants.h"

namespace inferd::kernels {
namespace {

struct CpuFeatures {
  bool avx2_fma_f16c = false;
  bool avx_vnni = false;
  bool avx512_vnni_vbmi = false;
};

// XCR0: which register files the operating system saves.
uint64_t SavedState() {
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

constexpr bool HasAll(uint32_t word, uint32_t bits) { return (word & bits) == bits; }

CpuFeatures ReadFeatures() {
  constexpr uint32_t kFma = 1u << 12, kOsxsave = 1u << 27, kF16c = 1u << 29;      // leaf 1, ecx
  constexpr uint32_t kAvx2 = 1u << 5, kBmi2 = 1u << 8;                            // leaf 7, ebx
  constexpr uint32_t kAvx512FDqBwVl = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;  // leaf 7, ebx
  constexpr uint32_t kVbmi = 1u << 1, kVbmi2 = 1u << 6, kVnni = 1u << 11;         // leaf 7, ecx
  constexpr uint32_t kAvxVnni = 1u << 4;                                          // leaf 7.1, eax
  constexpr uint64_t kYmmState = 0x6, kZmmState = 0xe6;                           // XCR0
  CpuFeatures features;
  uint32_t a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !HasAll(c, kFma | kOsxsave | kF16c)) return features;
  const uint64_t saved = SavedState();
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (saved & kYmmState) != kYmmState) return features;
  features.avx2_fma_f16c = HasAll(b, kAvx2 | kBmi2);
  features.avx512_vnni_vbmi = features.avx2_fma_f16c && (saved & kZmmState) == kZmmState && HasAll(b, kAvx512FDqBwVl) &&
                              HasAll(c, kVbmi | kVbmi2 | kVnni);
  const bool has_second_page = a >= 1;
  features.avx_vnni =
      features.avx2_fma_f16c && has_second_page && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && HasAll(a, kAvxVnni);
  return features;
}

constexpr Variant kVariants[] = {
    {&reference::kTable, [] { return true; }},
    {&avx2::kTable, [] { return ReadFeatures().avx2_fma_f16c; }},
    {&avxvnni::kTable, [] { return ReadFeatures().avx_vnni; }},
    {&avx512::kTable, [] { return ReadFeatures().avx512_vnni_vbmi; }},
};

constexpr const char* kNames[] = {"reference", "avx2", "avxvnni", "avx512", nullptr};

}  // namespace

VariantList Variants() { return {kVariants, sizeof(kVariants) / sizeof(kVariants[0]), kNames}; }

}  // namespace inferd::kernels
