// The reference kernels other than products, as functions: their contracts stand at the entries of kernels.h. Other
// variants name them in their tables where they have none of their own, and tests call them.
//
//   .rms_norm = reference::RmsNorm,
#pragma once

#include "kernels/kernels.h"

namespace inferd::kernels::reference {

void RmsNorm(const float* x, const float* weight, float epsilon, int64_t n, float* out);
void LayerNorm(const float* x, const float* weight, const float* bias, float epsilon, int64_t n, float* out);
void L2Norm(const float* x, float epsilon, int64_t n, float* out);

void RopeTable(int64_t position, const double* inverse_frequencies, int64_t pairs, float magnitude, float* table);
void Rope(float* heads, int64_t head_count, int64_t head_stride, int64_t rotated, RopePairing pairing,
          const float* table);

// The keys that the query at a position sees.
struct KeyRange {
  int64_t first, end;
};
KeyRange SeenKeys(const AttentionArguments& arguments, int64_t position);

size_t PageBytes(const PageShape& shape);
void WriteKv(const PageShape& shape, void* page, int32_t slot, int32_t tokens, const float* k, int64_t k_stride,
             const float* v, int64_t v_stride);
size_t AttentionScratchBytes(const PageShape& shape, int32_t group, int64_t queries);
void Attention(const AttentionArguments& arguments);
void AttentionSpan(const AttentionArguments& arguments, int64_t span, float* state);
void MergeSpans(const AttentionArguments& arguments, int64_t spans, const float* states);

void Convolve(const ConvolutionArguments& arguments);
void MambaScan(const MambaArguments& arguments);
void Mamba2Scan(const Mamba2Arguments& arguments);
void DeltaRule(const DeltaArguments& arguments);
void Route(const RouterArguments& arguments);

void ActivateRow(Activation kind, const float* x, int64_t n, float* out);
void Gate(Activation kind, const float* gate, const float* up, int64_t n, float* out);
void Add(const float* a, const float* b, int64_t n, float* out);
void Multiply(const float* a, const float* b, int64_t n, float* out);
void Scale(const float* x, float factor, int64_t n, float* out);
void AddScaled(const float* x, float factor, int64_t n, float* out);
void SoftCap(const float* x, float cap, int64_t n, float* out);
void Softmax(const float* x, int64_t n, float* out);

int32_t ArgMax(const float* x, int64_t n);
int32_t TopK(const float* x, int64_t n, int32_t k, TopEntry* top);
float LogSumExp(const float* x, int64_t n);
bool AllFinite(const float* x, int64_t n);

int64_t Int8Peak(int64_t rounds, float* sink);
int64_t FloatPeak(int64_t rounds, float* sink);

}  // namespace inferd::kernels::reference
