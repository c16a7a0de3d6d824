// What the layers of a pass hand on, [rows][n_embd]: blocks read its rows and add their branches to it.
//
//   stream.StoreNormed(w.before_mixer, input);                                       // what a block reads
//   stream.AddProduct(inner, w.attention.output, w.after_mixer, w.after_mixer_sum);  // x += norm(output * inner)
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "engine/device/cpu/cpu_batch.h"
#include "engine/device/cpu/processor.h"
#include "engine/model/decoder_spec.h"

namespace inferd::device {

class ResidualStream {
 public:
  ResidualStream(Processor& processor, const CpuBatch& batch, const model::DecoderSpec& spec)
      : processor_(processor), k_(processor.kernels()), batch_(batch), spec_(spec) {}

  absl::Status Allocate(int64_t most_rows);

  float* Row(int64_t row) const { return x_ + row * spec_.width; }
  float* BranchRow(int64_t row) const { return branch_ + row * spec_.width; }  // for AddBranch

  // norm(row) of all rows, in the formats that `out` has.
  void StoreNormed(const model::Norm& norm, const Activations& out) const;

  // x += linear(inner), through the branch's and the stream's norms: closes a mixer or a feed-forward network.
  void AddProduct(const Activations& inner, const model::Linear& linear, const model::Norm& on_branch,
                  const model::Norm& on_sum);
  // The same for a branch that lies in its rows.
  void AddBranch(const model::Norm& on_branch, const model::Norm& on_sum);

  void Scale(float factor);

 private:
  void AddToRow(const float* branch, int64_t n, float* x) const;

  Processor& processor_;
  const kernels::Kernels& k_;
  const CpuBatch& batch_;
  const model::DecoderSpec& spec_;
  Workspace workspace_;
  float *x_ = nullptr, *branch_ = nullptr;
};

}  // namespace inferd::device
