// Matrix products over a batch: activations in the formats that the weights take, and work divided by weight rows.
//
//   products.Store(activations, row, x);                                  // quantize one row, in each format needed
//   products.Multiply(activations, rows, {{&layer.q, q, q_stride}, {&layer.k, k, k_stride}},
//                     [&](const Part& part, int32_t thread) { ... });     // after a part's columns are complete
//
// How the rows are divided never changes a result.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "engine/device/cpu/blas.h"
#include "engine/device/cpu/thread_pool.h"
#include "engine/device/cpu/workspace.h"
#include "engine/model/weights.h"
#include "kernels/kernels.h"

namespace inferd::device {

// A set of activation formats.
class Formats {
 public:
  Formats() = default;
  static Formats Of(std::initializer_list<const model::Linear*> linears) {
    Formats formats;
    for (const model::Linear* linear : linears) {
      if (*linear) formats.Add(linear->weights.type);
    }
    return formats;
  }
  void Add(kernels::TensorType type) { bits_ |= 1u << static_cast<unsigned>(kernels::TraitsOf(type).activation); }
  void Add(Formats others) { bits_ |= others.bits_; }
  bool Has(kernels::ActivationFormat format) const { return (bits_ >> static_cast<unsigned>(format) & 1u) != 0; }

  static constexpr kernels::ActivationFormat kAll[] = {
      kernels::ActivationFormat::kFloat, kernels::ActivationFormat::kBlock32, kernels::ActivationFormat::kBlock256};

 private:
  unsigned bits_ = 0;
};

// Rows of k elements, stored side by side in each of the formats.
struct Activations {
  std::array<void*, 3> data{};  // by format
  Formats formats;
  int64_t k = 0;
};

struct Product {
  const model::Linear* linear;
  float* out;  // [tokens][rows of the linear], stride floats apart
  int64_t stride;
};

// Columns row_begin..row_end-1 of a product's output, complete for all tokens.
struct Part {
  int64_t row_begin, row_end;
};

class Products {
 public:
  Products(const kernels::Kernels& k, ThreadPool& pool, std::span<const ThreadScratch> scratch)
      : k_(k), pool_(pool), scratch_(scratch) {}

  // From now on, products of many tokens with float weights are OpenBLAS's; ThreadScratch::blas has kBlasRows rows.
  void UseBlas(const Blas& blas) { blas_ = blas; }
  static constexpr int64_t kBlasRows = 64;

  void Store(const Activations& activations, int64_t row, const float* x) const;

  template <typename After>
  void Multiply(const Activations& activations, int64_t tokens, std::span<const Product> products, After after) const {
    int64_t rows = 0;
    for (const Product& product : products) rows += product.linear->weights.rows;
    const int64_t step = RowsPerItem(rows, tokens);
    int64_t items = 0;
    for (const Product& product : products) items += (product.linear->weights.rows + step - 1) / step;
    pool_.Run(items, [&](int64_t item, int32_t thread) {
      size_t index = 0;
      for (int64_t parts; item >= (parts = (products[index].linear->weights.rows + step - 1) / step); ++index)
        item -= parts;
      const Product& product = products[index];
      const int64_t begin = item * step, end = std::min(begin + step, product.linear->weights.rows);
      MultiplyRows(activations, nullptr, tokens, *product.linear, begin, end, product.out, product.stride, thread,
                   LikelyAfter(*product.linear, begin, step));
      after(Part{begin, end}, thread);
    });
  }
  void Multiply(const Activations& activations, int64_t tokens, std::span<const Product> products) const {
    Multiply(activations, tokens, products, [](const Part&, int32_t) {});
  }

  // One part in the calling thread: the product, then the linear's scale and bias. activation_rows may be nullptr;
  // next: MatmulArguments::next.
  void MultiplyRows(const Activations& activations, const int32_t* activation_rows, int64_t tokens,
                    const model::Linear& linear, int64_t row_begin, int64_t row_end, float* out, int64_t stride,
                    int32_t thread, const void* next = nullptr) const;

  // The same with the part's columns side by side: out [tokens][row_end - row_begin].
  void MultiplyColumns(const Activations& activations, const int32_t* activation_rows, int64_t tokens,
                       const model::Linear& linear, int64_t row_begin, int64_t row_end, float* out, int32_t thread,
                       const void* next = nullptr) const {
    MultiplyRows(activations, activation_rows, tokens, linear, row_begin, row_end, out - row_begin, row_end - row_begin,
                 thread, next);
  }

  static const void* RowOf(const model::Linear& linear, int64_t row) {
    if (row >= linear.weights.rows) return nullptr;
    return static_cast<const std::byte*>(linear.weights.data) + static_cast<size_t>(row) * linear.weights.row_bytes;
  }
  // What a thread is likely to read after the item of `step` rows from `row` on: the other threads take one each.
  const void* LikelyAfter(const model::Linear& linear, int64_t row, int64_t step) const {
    return RowOf(linear, row + step * pool_.threads());
  }

  // How many weight rows make one item, so that threads finish together and each reads long runs of memory.
  int64_t RowsPerItem(int64_t rows, int64_t tokens) const { return RowsPerItem(rows, tokens, pool_.threads()); }
  static int64_t RowsPerItem(int64_t rows, int64_t tokens, int32_t threads);
  // Outputs of the largest item of a batch of up to `most_tokens`.
  static int64_t MostOfItem(int64_t most_tokens);

 private:
  void MultiplyByBlas(const Activations& activations, int64_t tokens, const kernels::WeightMatrix& weights,
                      int64_t row_begin, int64_t row_end, float* out, int64_t stride, int32_t thread) const;

  const kernels::Kernels& k_;
  ThreadPool& pool_;
  std::span<const ThreadScratch> scratch_;
  std::optional<Blas> blas_;
};

}  // namespace inferd::device
