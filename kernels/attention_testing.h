// A cache of random keys and values, and attention over it in double precision: what the tests of attention compare
// with.
//
//   AttentionProblem problem({.shape = {CacheType::kF16, 2, 64, 64}, .group = 4, .position = 100});
//   std::vector<float> out = problem.Run(kernels);            // [queries][group][v_dim]
//   std::vector<double> expected = problem.Expected();
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernel_testing.h"
#include "kernels/kernels.h"

namespace inferd::kernels {

struct AttentionCase {
  PageShape shape;
  int32_t group = 1;
  int64_t queries = 1;
  int64_t position = 0;
  int64_t first_key = 0;
  int64_t window = 0;
  int64_t bidirectional_end = 0;
  float soft_cap = 0.0f;
  bool alibi = false;
  bool sinks = false;
  float magnitude = 1.0f;  // of q, k and v

  std::string Name() const;
};

class AttentionProblem {
 public:
  explicit AttentionProblem(const AttentionCase& c);

  std::vector<float> Run(const Kernels& kernels) { return RunPart(kernels, 0, case_.queries); }
  // Queries first..first+count-1 alone.
  std::vector<float> RunPart(const Kernels& kernels, int64_t first, int64_t count);
  // All queries by attention_span, the last span first, and merge_spans.
  std::vector<float> RunSpans(const Kernels& kernels);
  std::vector<double> Expected() const;

 private:
  // Calls attend(arguments) for the queries; their output.
  template <typename Attend>
  std::vector<float> RunWith(const Kernels& kernels, int64_t first, int64_t count, Attend attend);
  double K(int64_t key, int32_t d) const;
  double V(int64_t key, int32_t d) const;
  double Stored(const unsigned char* page, size_t part, size_t scales, int64_t index, int64_t scale_index) const;
  bool Sees(int64_t position, int64_t key) const;
  std::vector<double> ExpectedRow(int64_t query, int32_t head) const;

  AttentionCase case_;
  int32_t kv_head_;
  int64_t keys_;
  float scale_;
  std::vector<float> q_, slopes_, sinks_;
  std::vector<AlignedBytes> pages_;
};

}  // namespace inferd::kernels
