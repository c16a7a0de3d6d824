// Norms, element-wise kernels, RoPE and what is asked of logits, on the emulator: the reference's bits.
#include <gtest/gtest.h>

#include <limits>

#include "kernels/gpu/elementwise.h"
#include "kernels/gpu/norms.h"
#include "kernels/gpu/vocabulary.h"
#include "kernels/gpu_emulator/testing.h"
#include "kernels/kernel_testing.h"

namespace inferd::kernels::gpu {
namespace {

using gpu_emulator::Device;
using gpu_emulator::kOrders;
using gpu_emulator::LaneOrder;
using gpu_emulator::Launcher;
using gpu_emulator::OnDevice;

constexpr int64_t kLengths[] = {1, 2, 15, 16, 17, 33, 100, 257, 640};
constexpr int64_t kRows = 3;

// Rows of n floats of different size, among them awkward ones.
std::vector<float> Rows(int64_t n) {
  std::vector<float> x = Random(1, static_cast<size_t>(kRows * n), 3.0f);
  const std::vector<float> awkward = Awkward(2, static_cast<size_t>(n));
  std::copy(awkward.begin(), awkward.end(), x.begin() + n);
  return x;
}

// kernel(launch, x, out) with a block for each row, in each order of lanes; expected: of the same rows. T: what it
// writes.
template <class T, class Kernel>
void CheckRows(const std::vector<float>& x, uint32_t threads, const std::vector<T>& expected, const Kernel& kernel) {
  for (const LaneOrder order : kOrders) {
    Device device({order});
    OnDevice<float> in(device, x);
    OnDevice<T> out(device, std::vector<T>(expected.size()));
    kernel(Launcher(device, "rows", {kRows}, {threads}), in.data(), out.data());
    const std::vector<T> got = out.Read();
    ASSERT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(T)), 0) << x.size() / kRows << " a row";
  }
}

template <class Kernel, class Definition>
void CheckNorm(int64_t n, bool affine, const Kernel& kernel, const Definition& definition) {
  const std::vector<float> x = Rows(n), w = Random(3, static_cast<size_t>(2 * n)), b = Random(4, w.size());
  std::vector<float> expected(x.size());
  for (int64_t r = 0; r < kRows; ++r) {
    const int64_t own = r % 2 * n;
    definition(x.data() + r * n, affine ? w.data() + own : nullptr, affine ? b.data() + own : nullptr,
               expected.data() + r * n);
  }
  for (const LaneOrder order : kOrders) {
    Device device({order});
    OnDevice<float> rows(device, x), weight(device, w), bias(device, b);
    Launcher(device, "norm", {kRows}, {kNormThreads})(kernel, NormArguments{.x = rows.data(),
                                                                            .x_stride = n,
                                                                            .n = n,
                                                                            .weight = affine ? weight.data() : nullptr,
                                                                            .bias = affine ? bias.data() : nullptr,
                                                                            .weight_rows = 2,
                                                                            .epsilon = 1e-5f,
                                                                            .out = rows.data(),
                                                                            .out_stride = n});
    ASSERT_EQ(rows.Read(), expected) << n << " a row";
  }
}

TEST(Norms, HaveTheReferencesBits) {
  for (const int64_t n : kLengths) {
    for (const bool affine : {true, false}) {
      CheckNorm(n, affine, RmsNorm, [&](const float* x, const float* w, const float* b, float* out) {
        Reference().rms_norm(x, w, 1e-5f, n, out);
        if (b != nullptr) Reference().add(out, b, n, out);
      });
      CheckNorm(n, affine, LayerNorm, [&](const float* x, const float* w, const float* b, float* out) {
        Reference().layer_norm(x, w, b, 1e-5f, n, out);
      });
    }
    CheckNorm(n, false, L2Norm,
              [&](const float* x, const float*, const float*, float* out) { Reference().l2_norm(x, 1e-5f, n, out); });
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// kernel(launch, a, b, n, out) for all elements of two rows of awkward floats; definition alike. out holds a before.
template <class Kernel, class Definition>
void CheckElements(const Kernel& kernel, const Definition& definition) {
  constexpr int64_t kCount = 700;
  const std::vector<float> a = Awkward(5, kCount), b = Random(6, kCount, 20.0f);
  std::vector<float> expected = a;
  definition(b.data(), a.data(), kCount, expected.data());
  for (const LaneOrder order : kOrders) {
    Device device({order});
    OnDevice<float> first(device, b), second(device, a), out(device, a);
    kernel(Launcher(device, "elements", {ElementBlocks(kCount)}, {kElementThreads}), first.data(), second.data(),
           kCount, out.data());
    ASSERT_EQ(out.Read(), expected);
  }
}

TEST(Elements, HaveTheReferencesBits) {
  using In = const float*;
  for (int kind = 0; kind <= static_cast<int>(Activation::kGeluHalf); ++kind) {
    const auto activation = static_cast<Activation>(kind);
    CheckElements(
        [&](const Launcher& launch, In a, In, int64_t n, float* out) { launch(Activate, activation, a, n, out); },
        [&](In a, In, int64_t n, float* out) { Reference().activate(activation, a, n, out); });
    CheckElements(
        [&](const Launcher& launch, In a, In b, int64_t n, float* out) { launch(Gate, activation, a, b, n, out); },
        [&](In a, In b, int64_t n, float* out) { Reference().gate(activation, a, b, n, out); });
  }
  CheckElements([](const Launcher& launch, In a, In b, int64_t n, float* out) { launch(Add, a, b, n, out); },
                Reference().add);
  CheckElements(
      [](const Launcher& launch, In a, In b, int64_t n, float* out) { launch(MultiplyElements, a, b, n, out); },
      Reference().multiply);
  CheckElements([](const Launcher& launch, In a, In, int64_t n, float* out) { launch(Scale, a, 1.7f, n, out); },
                [](In a, In, int64_t n, float* out) { Reference().scale(a, 1.7f, n, out); });
  CheckElements([](const Launcher& launch, In a, In, int64_t n, float* out) { launch(AddScaled, a, 1.7f, n, out); },
                [](In a, In, int64_t n, float* out) { Reference().add_scaled(a, 1.7f, n, out); });
  CheckElements([](const Launcher& launch, In a, In, int64_t n, float* out) { launch(SoftCap, a, 30.0f, n, out); },
                [](In a, In, int64_t n, float* out) { Reference().soft_cap(a, 30.0f, n, out); });
  CheckElements([](const Launcher& launch, In a, In, int64_t n, float* out) { launch(AddToRows, a, 100, n, out); },
                [](In a, In, int64_t n, float* out) {
                  for (int64_t i = 0; i < n; i += 100) Reference().add(out + i, a, 100, out + i);
                });
}

TEST(Rope, HasTheReferencesBits) {
  constexpr int64_t kHeads = 5;
  for (const int64_t pairs : {1, 3, 16, 40, 64}) {
    const int64_t head_stride = 2 * pairs + 3, row_stride = kHeads * head_stride + 1;
    std::vector<double> frequencies;
    for (int64_t i = 0; i < pairs; ++i) frequencies.push_back(exact::Pow(10000, -static_cast<double>(i) / 40));
    std::vector<float> tables(static_cast<size_t>(kRows * 2 * pairs));
    const std::vector<float> x = Random(7, static_cast<size_t>(kRows * row_stride));
    for (const RopePairing pairing : {RopePairing::kNeighbours, RopePairing::kHalves}) {
      std::vector<float> expected = x;
      for (int64_t r = 0; r < kRows; ++r) {
        float* const table = tables.data() + r * 2 * pairs;
        Reference().rope_table(1000 * r + 7, frequencies.data(), pairs, 1.25f, table);
        Reference().rope(expected.data() + r * row_stride, kHeads, head_stride, 2 * pairs, pairing, table);
      }
      for (const LaneOrder order : kOrders) {
        Device device({order});
        OnDevice<float> heads(device, x), table(device, tables);
        Launcher(device, "Rope", {kRows}, {kElementThreads})(Rope, heads.data(), row_stride, kHeads, head_stride,
                                                             2 * pairs, pairing, table.data());
        ASSERT_EQ(heads.Read(), expected);
      }
    }
  }
}

// Logits with ties, infinities and NaN.
std::vector<float> Logits(int64_t n) {
  std::vector<float> x = Random(8, static_cast<size_t>(kRows * n), 4.0f);
  for (size_t i = 0; i < x.size(); i += 3) x[i] = std::nearbyint(x[i]);
  const auto second = x.begin() + n;
  for (int64_t i = 0; i < n; i += 4) second[i] = std::numeric_limits<float>::quiet_NaN();
  std::fill(x.begin() + 2 * n, x.end(), -std::numeric_limits<float>::infinity());
  return x;
}

TEST(Vocabulary, SoftmaxHasTheReferencesBits) {
  for (const int64_t n : {1, 17, 640, 2049, 5000}) {
    const std::vector<float> x = Rows(n);
    std::vector<float> expected(x.size());
    for (int64_t r = 0; r < kRows; ++r) Reference().softmax(x.data() + r * n, n, expected.data() + r * n);
    CheckRows(x, kVocabularyThreads, expected,
              [=](const Launcher& launch, const float* in, float* out) { launch(Softmax, in, n, out); });
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Vocabulary, BestEntriesAreTheReferences) {
  for (const int64_t n : {1, 17, 640, 5000}) {
    const std::vector<float> x = Logits(n);
    const auto k = static_cast<int32_t>(std::min<int64_t>(n, 9));
    std::vector<TopEntry> top(static_cast<size_t>(kRows * k));
    std::vector<int32_t> best;
    for (int64_t r = 0; r < kRows; ++r) {
      Reference().top_k(x.data() + r * n, n, k, top.data() + r * k);
      best.push_back(Reference().argmax(x.data() + r * n, n));
    }
    CheckRows(x, kVocabularyThreads, top,
              [=](const Launcher& launch, const float* in, TopEntry* out) { launch(TopK, in, n, k, out); });
    CheckRows(x, kVocabularyThreads, best,
              [=](const Launcher& launch, const float* in, int32_t* out) { launch(ArgMax, in, n, out); });
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Vocabulary, LogSumExpFromItsPartsHasTheReferencesBits) {
  for (const int64_t n : {1, 17, 640, 5000}) {
    const std::vector<float> x = Rows(n);
    for (const LaneOrder order : kOrders) {
      Device device({order});
      OnDevice<float> in(device, x), out(device, std::vector<float>(2 * kRows));
      Launcher(device, "LogSumExpParts", {kRows}, {kVocabularyThreads})(LogSumExpParts, in.data(), n, out.data());
      const std::vector<float> parts = out.Read();
      for (int64_t r = 0; r < kRows; ++r) {
        const double sum = static_cast<double>(parts[2 * r]) + exact::Log(static_cast<double>(parts[2 * r + 1]));
        ASSERT_EQ(static_cast<float>(sum), Reference().log_sum_exp(x.data() + r * n, n));
      }
    }
  }
}

}  // namespace
}  // namespace inferd::kernels::gpu
