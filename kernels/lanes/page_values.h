// Keys and values of one KV head in one page, read in place or copied as f32.
//
//   PageValues<Lanes> stored(shape, page, kv_head);
//   stored.CopyKeys(keys);             // [k_dim][64]
#pragma once

#include "kernels/lanes/chain.h"
#include "kernels/reference/page.h"
#include "kernels/sequence_arguments.h"

namespace inferd::kernels::lanes {

template <class L>
class PageValues {
 public:
  PageValues(const PageShape& shape, const void* page, int32_t kv_head) : shape_(shape) {
    const reference::PageOffsets offsets = reference::OffsetsOf(shape, kv_head);
    const char* base = static_cast<const char*>(page);
    keys_ = base + offsets.k;
    values_ = base + offsets.v;
    key_scales_ = reinterpret_cast<const uint16_t*>(base + offsets.k_scales);
    value_scales_ = reinterpret_cast<const uint16_t*>(base + offsets.v_scales);
  }

  // Rows of whole lanes that need no more than a conversion.
  bool ReadableAsFloat() const { return shape_.type == CacheType::kF32 && shape_.v_dim % 16 == 0; }
  bool ReadableAsHalf() const { return shape_.type == CacheType::kF16 && shape_.v_dim % 16 == 0; }

  FloatRows<L> FloatKeys() const { return {reinterpret_cast<const float*>(keys_), kPageTokens}; }
  FloatRows<L> FloatValues() const { return {reinterpret_cast<const float*>(values_), shape_.v_dim}; }
  HalfRows<L> HalfKeys() const { return {reinterpret_cast<const uint16_t*>(keys_), kPageTokens}; }
  HalfRows<L> HalfValues() const { return {reinterpret_cast<const uint16_t*>(values_), shape_.v_dim}; }

  // To [k_dim][64].
  void CopyKeys(float* out) const {
    WithType([&]<CacheType kType>() {
      for (int64_t d = 0; d < shape_.k_dim; ++d) {
        const uint16_t* scales = key_scales_ + d / reference::kScaleDims * kPageTokens;
        for (int64_t t = 0; t < kPageTokens; t += 16) {
          Float x = Widen<kType>(keys_, d * kPageTokens + t);
          if constexpr (kType == CacheType::kQ8_0) x = L::Multiply(L::LoadHalf(scales + t), x);
          L::Store(out + d * kPageTokens + t, x);
        }
      }
    });
  }

  // To [64][stride], stride >= v_dim a multiple of 16; zeros behind v_dim.
  void CopyValues(float* out, int64_t stride) const {
    WithType([&]<CacheType kType>() {
      const int64_t whole = shape_.v_dim / 16 * 16;
      for (int64_t d = 0; d < whole; d += 16) CopyValueColumns<kType>(d, out + d, stride);
      if (whole == shape_.v_dim) return;
      for (int64_t t = 0; t < kPageTokens; ++t) {
        L::Store(out + t * stride + whole, WidenFirst<kType>(t * shape_.v_dim + whole, shape_.v_dim - whole));
      }
    });
  }

 private:
  using Float = typename L::Float;

  template <class Function>
  void WithType(const Function& function) const {
    switch (shape_.type) {
      case CacheType::kF32:
        return function.template operator()<CacheType::kF32>();
      case CacheType::kF16:
        return function.template operator()<CacheType::kF16>();
      case CacheType::kQ8_0:
        return function.template operator()<CacheType::kQ8_0>();
    }
  }

  template <CacheType kType>
  void CopyValueColumns(int64_t d, float* out, int64_t stride) const {
    float scales[kPageTokens];
    if constexpr (kType == CacheType::kQ8_0) {
      const uint16_t* block = value_scales_ + d / reference::kScaleDims * kPageTokens;
      for (int t = 0; t < kPageTokens; t += 16) L::Store(scales + t, L::LoadHalf(block + t));
    }
    for (int64_t t = 0; t < kPageTokens; ++t) {
      Float x = Widen<kType>(values_, t * shape_.v_dim + d);
      if constexpr (kType == CacheType::kQ8_0) x = L::Multiply(L::Set(scales[t]), x);
      L::Store(out + t * stride, x);
    }
  }

  template <CacheType kType>
  Float Widen(const char* data, int64_t index) const {
    if constexpr (kType == CacheType::kF32) return L::Load(reinterpret_cast<const float*>(data) + index);
    if constexpr (kType == CacheType::kF16) return L::LoadHalf(reinterpret_cast<const uint16_t*>(data) + index);
    if constexpr (kType == CacheType::kQ8_0) return L::LoadInt8(reinterpret_cast<const int8_t*>(data) + index);
  }

  // The last `width` values of a row, without reading behind them; q8_0 has whole blocks only.
  template <CacheType kType>
  Float WidenFirst(int64_t index, int64_t width) const {
    if constexpr (kType == CacheType::kF32) {
      return L::LoadFirst(reinterpret_cast<const float*>(values_) + index, width);
    }
    uint16_t halves[16] = {};
    for (int64_t i = 0; i < width; ++i) halves[i] = reinterpret_cast<const uint16_t*>(values_)[index + i];
    return L::LoadHalf(halves);
  }

  PageShape shape_;
  const char *keys_, *values_;
  const uint16_t *key_scales_, *value_scales_;
};

}  // namespace inferd::kernels::lanes
