// The calls of GpuStream as launches, for whatever launches kernels on a device.
//
//   class EmulatedStream final : public Operations<EmulatedStream> {
//    public:
//     template <class Kernel, class... Arguments>
//     void Launch(const char* name, Kernel kernel, GridSize grid, uint32_t threads, const Arguments&... arguments);
//     ...                              // and the rest of GpuStream: memory, copies, Wait
//   };
#pragma once

#include "kernels/gpu/attention.h"
#include "kernels/gpu/embedding.h"
#include "kernels/gpu/gpu_stream.h"
#include "kernels/gpu/matrix_product.h"
#include "kernels/gpu/norms.h"
#include "kernels/gpu/quantize.h"
#include "kernels/gpu/vector_product.h"
#include "kernels/gpu/vocabulary.h"

namespace inferd::kernels::gpu {

struct GridSize {
  uint32_t x = 1, y = 1, z = 1;
};

constexpr int kFewTokens = 3;  // up to here, products take one token after the other

inline uint32_t DivideUp(int64_t a, int64_t b) { return static_cast<uint32_t>((a + b - 1) / b); }

// visit(Type()) for a quantized type that has kernels; else false.
template <class Visit>
bool WithQuantizedType(TensorType type, const Visit& visit) {
  const auto is = [&]<class Type>(Type candidate) {
    if (Type::kType != type) return false;
    visit(candidate);
    return true;
  };
  const auto any = [&](auto... types) { return (is(types) || ...); };
  return any(TypeQ4_0(), TypeQ4_1(), TypeQ5_0(), TypeQ5_1(), TypeQ8_0(), TypeQ2_K(), TypeQ3_K(), TypeQ4_K(), TypeQ5_K(),
             TypeQ6_K(), TypeIQ4_NL(), TypeMXFP4(), TypeIQ4_XS(), TypeTQ1_0(), TypeTQ2_0());
}
template <class Visit>
bool WithFloatType(TensorType type, const Visit& visit) {
  if (type == TensorType::kF32) return visit(TypeF32()), true;
  if (type == TensorType::kF16) return visit(TypeF16()), true;
  if (type == TensorType::kBF16) return visit(TypeBF16()), true;
  return false;
}

template <class Stream>
class Operations : public GpuStream {
 public:
  bool Has(TensorType type) const override {
    const auto nothing = [](auto) {};
    return WithQuantizedType(type, nothing) || WithFloatType(type, nothing);
  }

  void Embed(TensorType type, int64_t rows, const EmbeddingArguments& a) override {
    const GridSize grid{ElementBlocks(a.k), Count(rows)};
    const auto quantized = [&]<class Type>(Type) { Run("EmbedRows", EmbedRows<Type>, grid, kElementThreads, a); };
    if (WithQuantizedType(type, quantized)) return;
    WithFloatType(type,
                  [&]<class Type>(Type) { Run("EmbedFloatRows", EmbedFloatRows<Type>, grid, kElementThreads, a); });
  }

  void Quantize(ActivationFormat format, const float* x, int64_t rows, int64_t k, void* out,
                int64_t row_bytes) override {
    const GridSize grid{DivideUp(k, 256), Count(rows)};
    auto* const to = static_cast<uint8_t*>(out);
    if (format == ActivationFormat::kBlock32) {
      Run("QuantizeBlocks32", QuantizeBlocks32, grid, kQuantizeThreads, x, k, to, row_bytes);
    } else {
      Run("QuantizeBlocks256", QuantizeBlocks256, grid, 256, x, k, to, row_bytes);
    }
  }

  void Multiply(TensorType type, const ProductArguments& a) override {
    const auto quantized = [&]<class Type>(Type) {
      if (a.tokens <= kFewTokens) {
        Run("MultiplyVector", MultiplyVector<Type>, {DivideUp(a.rows, kVectorRows), Count(a.tokens)}, kProductThreads,
            a);
      } else {
        Run("MultiplyMatrix", MultiplyMatrix<Type>, {DivideUp(a.rows, kMatrixRows), DivideUp(a.tokens, kMatrixTokens)},
            kProductThreads, a);
      }
    };
    if (WithQuantizedType(type, quantized)) return;
    const GridSize grid{DivideUp(a.rows, kFloatRows), Count(a.tokens)};
    WithFloatType(type,
                  [&]<class Type>(Type) { Run("MultiplyFloats", MultiplyFloats<Type>, grid, kProductThreads, a); });
  }

  void RmsNorm(int64_t rows, const NormArguments& a) override {
    Run("RmsNorm", gpu::RmsNorm, {Count(rows)}, kNormThreads, a);
  }
  void LayerNorm(int64_t rows, const NormArguments& a) override {
    Run("LayerNorm", gpu::LayerNorm, {Count(rows)}, kNormThreads, a);
  }

  void WriteKv(int64_t rows, const WriteArguments& a) override {
    Run("WriteKv", gpu::WriteKv, {Count(rows)}, kWriteThreads, a);
  }
  void Attend(int64_t rows, const SpanArguments& a) override {
    const GridSize merged{Count(a.heads), Count(rows)};
    Run("AttendSpans", AttendSpans, {merged.x, merged.y, Count(a.spans)}, kAttentionThreads, a);
    Run("MergeSpans", MergeSpans, merged, kAttentionThreads, a);
  }
  void Rope(const HeadArguments& a, int64_t rows, RopePairing pairing, const float* tables) override {
    Run("Rope", gpu::Rope, {Count(rows)}, kElementThreads, a.x, a.row_stride, int64_t{a.heads}, a.head_stride, a.n,
        pairing, tables);
  }
  void ScaleHeads(const HeadArguments& a, int64_t rows, const float* factors, int64_t row_factors,
                  int64_t head_factors) override {
    Run("ScaleHeads", gpu::ScaleHeads, {Count(rows)}, kElementThreads, a, factors, row_factors, head_factors);
  }
  void GateHeads(Activation kind, const HeadArguments& a, int64_t rows, const float* gates, int64_t row_gates,
                 int64_t head_gates) override {
    Run("GateHeads", gpu::GateHeads, {Count(rows)}, kElementThreads, kind, a, gates, row_gates, head_gates);
  }

  void Activate(Activation kind, const float* x, int64_t n, float* out) override {
    Run("Activate", gpu::Activate, {ElementBlocks(n)}, kElementThreads, kind, x, n, out);
  }
  void Gate(Activation kind, const float* gate, const float* up, int64_t n, float* out) override {
    Run("Gate", gpu::Gate, {ElementBlocks(n)}, kElementThreads, kind, gate, up, n, out);
  }
  void Add(const float* a, const float* b, int64_t n, float* out) override {
    Run("Add", gpu::Add, {ElementBlocks(n)}, kElementThreads, a, b, n, out);
  }
  void AddToRows(const float* b, int64_t width, int64_t rows, float* x) override {
    Run("AddToRows", gpu::AddToRows, {ElementBlocks(width * rows)}, kElementThreads, b, width, width * rows, x);
  }
  void DivideRows(const float* b, int64_t width, int64_t rows, float* x) override {
    Run("DivideRows", gpu::DivideRows, {ElementBlocks(width * rows)}, kElementThreads, b, width, width * rows, x);
  }
  void MultiplyElements(const float* a, const float* b, int64_t n, float* out) override {
    Run("MultiplyElements", gpu::MultiplyElements, {ElementBlocks(n)}, kElementThreads, a, b, n, out);
  }
  void Scale(const float* x, float factor, int64_t n, float* out) override {
    Run("Scale", gpu::Scale, {ElementBlocks(n)}, kElementThreads, x, factor, n, out);
  }
  void AddScaled(const float* x, float factor, int64_t n, float* out) override {
    Run("AddScaled", gpu::AddScaled, {ElementBlocks(n)}, kElementThreads, x, factor, n, out);
  }
  void SoftCap(const float* x, float cap, int64_t n, float* out) override {
    Run("SoftCap", gpu::SoftCap, {ElementBlocks(n)}, kElementThreads, x, cap, n, out);
  }
  void Clamp(float limit, int64_t n, float* x) override {
    Run("Clamp", gpu::Clamp, {ElementBlocks(n)}, kElementThreads, limit, n, x);
  }
  void ClampPair(float limit, float added, int64_t n, float* gate, float* up) override {
    Run("ClampPair", gpu::ClampPair, {ElementBlocks(n)}, kElementThreads, limit, added, n, gate, up);
  }

  void GatherRows(const float* x, const int32_t* which, int64_t rows, int64_t width, float* out) override {
    Run("GatherRows", gpu::GatherRows, {Count(rows)}, kElementThreads, x, which, width, out);
  }
  void TopK(const float* x, int64_t rows, int64_t n, int32_t k, TopEntry* top) override {
    Run("TopK", gpu::TopK, {Count(rows)}, kVocabularyThreads, x, n, k, top);
  }
  void LogSumExpParts(const float* x, int64_t rows, int64_t n, float* parts) override {
    Run("LogSumExpParts", gpu::LogSumExpParts, {Count(rows)}, kVocabularyThreads, x, n, parts);
  }

 private:
  static uint32_t Count(int64_t n) { return static_cast<uint32_t>(n); }

  template <class Kernel, class... Arguments>
  void Run(const char* name, Kernel kernel, GridSize grid, uint32_t threads, const Arguments&... arguments) {
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
    static_cast<Stream*>(this)->Launch(name, kernel, grid, threads, arguments...);
  }
};

}  // namespace inferd::kernels::gpu
