// What kernels of GPUs are told, as the host fills it; all memory is the device's.
//
//   stream.RmsNorm(rows, {.x = x, .x_stride = n, .n = n, .weight = w, .epsilon = 1e-5f, .out = y, .out_stride = n});
#pragma once

#include <cstdint>

#include "kernels/sequence_arguments.h"

namespace inferd::kernels::gpu {

struct ProductArguments {
  const uint8_t* weights;  // [rows] of whole blocks, as in the file
  int64_t row_bytes;
  int32_t rows;
  int32_t blocks;              // of a row
  const uint8_t* activations;  // [tokens] rows in the type's format
  int64_t activation_row_bytes;
  int32_t tokens;
  float* out;  // [tokens] rows, out_stride floats apart
  int64_t out_stride;
};

// Rows of a table of weights, by number.
struct EmbeddingArguments {
  const uint8_t* table;  // rows of whole blocks, as in the file
  int64_t row_bytes;
  const int32_t* ids;  // [rows]
  int64_t k;           // elements of a row
  float* out;          // [rows][k]
};

// Rows of n floats. Row r takes the weights and biases at (r % weight_rows) * n, so that heads may have their own.
struct NormArguments {
  const float* x;
  int64_t x_stride;
  int64_t n;
  const float* weight = nullptr;  // ones
  const float* bias = nullptr;    // none
  int64_t weight_rows = 1;
  float epsilon = 0;
  float* out;  // may be x
  int64_t out_stride;
};

// Parts of n floats in the heads of rows: x[row][head][0..n-1].
struct HeadArguments {
  float* x;
  int64_t row_stride, head_stride;
  int32_t heads;
  int64_t n;
};

// Where the parts of a page lie, in bytes; heads of a part lie side by side.
struct PageLayout {
  CacheType type;
  int32_t kv_heads, k_dim, v_dim;
  int64_t k_head, v, v_head, k_scales, k_scales_head, v_scales, v_scales_head;
};

struct WriteArguments {
  PageLayout layout;
  uint8_t* const* pages;     // [pages of all sequences]
  const int32_t* page_of;    // [rows] index of the page that gets the row
  const int32_t* positions;  // [rows]
  const float* k;            // [rows][kv_heads][k_dim], k_stride apart
  int64_t k_stride;
  const float* v;
  int64_t v_stride;
};

// The keys that a row's query sees, by position in its sequence.
struct SeenRange {
  int32_t first, end;
};

struct SpanArguments {
  PageLayout layout;
  const uint8_t* const* pages;  // [pages of all sequences]
  const int32_t* first_page;    // [rows] of the row's sequence among them
  const int32_t* positions;     // [rows]
  const SeenRange* seen;        // [rows] not empty
  int32_t heads, group;         // query heads, and how many share a KV head
  const float* q;               // [rows] of heads head_stride floats apart
  int64_t q_stride, head_stride;
  float scale, soft_cap;
  const float* alibi_slopes;  // [heads] or nullptr
  const float* sinks;         // [heads] or nullptr
  float* states;              // [rows][spans][heads][SpanStateFloats(v_dim)]
  int32_t spans;              // that any row has at most
  float* out;                 // [rows][heads][v_dim], out_stride apart
  int64_t out_stride;
};

}  // namespace inferd::kernels::gpu
