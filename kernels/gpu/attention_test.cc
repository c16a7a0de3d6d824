// Writing of pages and attention over them, on the emulator: the reference's bits.
#include "kernels/gpu/attention.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "kernels/gpu/layouts.h"
#include "kernels/gpu_emulator/testing.h"
#include "kernels/kernel_testing.h"
#include "kernels/reference/reference.h"

namespace inferd::kernels::gpu {
namespace {

using gpu_emulator::Device;
using gpu_emulator::kOrders;
using gpu_emulator::LaneOrder;
using gpu_emulator::Launcher;
using gpu_emulator::OnDevice;

struct Case {
  PageShape shape;
  int32_t group;
  int32_t length;  // keys of the sequence, of which the last `queries` are asked for
  int32_t queries;
  int64_t window = 0;
  bool bidirectional = false;
  float soft_cap = 0;
  bool alibi = false, sinks = false;
};

// A sequence whose keys and values go to pages in no order, by the reference and by the device.
class Problem {
 public:
  explicit Problem(const Case& c)
      : case_(c),
        pages_((c.length + kPageTokens - 1) / kPageTokens),
        page_bytes_(Reference().page_bytes(c.shape)),
        k_(Random(1, static_cast<size_t>(c.length * c.shape.kv_heads * c.shape.k_dim))),
        v_(Random(2, static_cast<size_t>(c.length * c.shape.kv_heads * c.shape.v_dim))),
        q_(Random(3, static_cast<size_t>(c.queries * Heads() * c.shape.k_dim))),
        slopes_(Random(4, static_cast<size_t>(Heads()))),
        sinks_(Random(5, static_cast<size_t>(Heads()))),
        memory_(page_bytes_ * pages_) {
    std::memset(memory_.data(), 0xFF, page_bytes_ * pages_);
    for (int32_t t = 0; t < c.length; ++t) {
      Reference().write_kv(c.shape, Page(t / kPageTokens), t % kPageTokens, 1, k_.data() + t * KStride(), KStride(),
                           v_.data() + t * VStride(), VStride());
    }
  }

  std::vector<uint8_t> Memory() const { return {memory_.data(), memory_.data() + page_bytes_ * pages_}; }

  std::vector<uint8_t> WrittenBy(LaneOrder order) const {
    Device device({order});
    OnDevice<uint8_t> memory(device, std::vector<uint8_t>(page_bytes_ * pages_, 0xFF));
    OnDevice<uint8_t*> pages(device, PagesAt(memory.data()));
    std::vector<int32_t> page_of, at;
    for (int32_t t = 0; t < case_.length; ++t) {
      page_of.push_back(t / kPageTokens);
      at.push_back(t);
    }
    OnDevice<int32_t> of(device, page_of), positions(device, at);
    OnDevice<float> k(device, k_), v(device, v_);
    Launcher(device, "WriteKv", {static_cast<uint32_t>(case_.length)}, {kWriteThreads})(
        WriteKv, {.layout = LayoutOf(case_.shape),
                  .pages = pages.data(),
                  .page_of = of.data(),
                  .positions = positions.data(),
                  .k = k.data(),
                  .k_stride = KStride(),
                  .v = v.data(),
                  .v_stride = VStride()});
    return memory.Read();
  }

  std::vector<float> Expected() {
    std::vector<float> out(static_cast<size_t>(case_.queries * OutStride()));
    AlignedBytes scratch(Reference().attention_scratch_bytes(case_.shape, case_.group, case_.queries));
    std::vector<const void*> pages;
    for (size_t p = 0; p < pages_; ++p) pages.push_back(Page(static_cast<int32_t>(p)));
    for (int32_t head = 0; head < case_.shape.kv_heads; ++head) {
      AttentionArguments a = Arguments(head);
      a.pages = pages.data();
      a.out = out.data() + head * case_.group * case_.shape.v_dim;
      a.scratch = scratch.data();
      Reference().attention(a);
    }
    return out;
  }

  std::vector<float> AttendedBy(LaneOrder order) const {
    Device device({order});
    OnDevice<uint8_t> memory(device, Memory());
    OnDevice<uint8_t*> pages(device, PagesAt(memory.data()));
    std::vector<SeenRange> ranges;
    std::vector<int32_t> at;
    for (int32_t i = 0; i < case_.queries; ++i) {
      at.push_back(case_.length - case_.queries + i);
      const reference::KeyRange seen = reference::SeenKeys(Arguments(0), at.back());
      ranges.push_back({static_cast<int32_t>(seen.first), static_cast<int32_t>(seen.end)});
    }
    const int32_t spans = (case_.length + kSpanTokens - 1) / kSpanTokens + 1;
    const size_t states = static_cast<size_t>(case_.queries * spans * Heads() * SpanStateFloats(case_.shape.v_dim));
    OnDevice<int32_t> first_page(device, std::vector<int32_t>(case_.queries)), positions(device, at);
    OnDevice<SeenRange> seen(device, ranges);
    OnDevice<float> q(device, q_), slopes(device, slopes_), sinks(device, sinks_),
        state(device, std::vector<float>(states, NAN)),
        out(device, std::vector<float>(static_cast<size_t>(case_.queries * OutStride()), 7.0f));
    const SpanArguments a{.layout = LayoutOf(case_.shape),
                          .pages = pages.data(),
                          .first_page = first_page.data(),
                          .positions = positions.data(),
                          .seen = seen.data(),
                          .heads = Heads(),
                          .group = case_.group,
                          .q = q.data(),
                          .q_stride = Heads() * case_.shape.k_dim,
                          .head_stride = case_.shape.k_dim,
                          .scale = Scale(),
                          .soft_cap = case_.soft_cap,
                          .alibi_slopes = case_.alibi ? slopes.data() : nullptr,
                          .sinks = case_.sinks ? sinks.data() : nullptr,
                          .states = state.data(),
                          .spans = spans,
                          .out = out.data(),
                          .out_stride = OutStride()};
    const auto heads = static_cast<uint32_t>(Heads()), rows = static_cast<uint32_t>(case_.queries);
    Launcher(device, "AttendSpans", {heads, rows, static_cast<uint32_t>(spans)}, {kAttentionThreads})(AttendSpans, a);
    Launcher(device, "MergeSpans", {heads, rows}, {kAttentionThreads})(MergeSpans, a);
    return out.Read();
  }

 private:
  int32_t Heads() const { return case_.shape.kv_heads * case_.group; }
  int64_t KStride() const { return case_.shape.kv_heads * case_.shape.k_dim; }
  int64_t VStride() const { return case_.shape.kv_heads * case_.shape.v_dim; }
  int64_t OutStride() const { return Heads() * case_.shape.v_dim; }
  float Scale() const { return 0.3f; }

  // Pages lie backwards.
  size_t PageOffset(size_t page) const { return (pages_ - 1 - page) * page_bytes_; }
  void* Page(int32_t page) { return memory_.data() + PageOffset(static_cast<size_t>(page)); }
  std::vector<uint8_t*> PagesAt(uint8_t* memory) const {
    std::vector<uint8_t*> pages;
    for (size_t p = 0; p < pages_; ++p) pages.push_back(memory + PageOffset(p));
    return pages;
  }

  AttentionArguments Arguments(int32_t kv_head) const {
    const int32_t head = kv_head * case_.group;
    AttentionArguments a{};
    a.shape = case_.shape;
    a.kv_head = kv_head;
    a.group = case_.group;
    a.queries = case_.queries;
    a.position = case_.length - case_.queries;
    a.window = case_.window;
    a.bidirectional_end = case_.bidirectional ? case_.length : 0;
    a.q = q_.data() + head * case_.shape.k_dim;
    a.q_stride = Heads() * case_.shape.k_dim;
    a.out_stride = OutStride();
    a.scale = Scale();
    a.soft_cap = case_.soft_cap;
    a.alibi_slopes = case_.alibi ? slopes_.data() + head : nullptr;
    a.sinks = case_.sinks ? sinks_.data() + head : nullptr;
    return a;
  }

  const Case case_;
  const size_t pages_, page_bytes_;
  const std::vector<float> k_, v_, q_, slopes_, sinks_;
  AlignedBytes memory_;
};

constexpr CacheType kF32 = CacheType::kF32, kF16 = CacheType::kF16, kQ8_0 = CacheType::kQ8_0;
constexpr Case kCases[] = {
    {.shape = {kF16, 2, 64, 64}, .group = 2, .length = 1, .queries = 1},
    {.shape = {kF16, 1, 64, 64}, .group = 3, .length = 200, .queries = 2},
    {.shape = {kF32, 2, 20, 12}, .group = 1, .length = 70, .queries = 3},
    {.shape = {kQ8_0, 1, 96, 160}, .group = 2, .length = 130, .queries = 2},
    {.shape = {kF16, 1, 48, 200}, .group = 2, .length = 600, .queries = 2},
    {.shape = {kF16, 1, 32, 32}, .group = 2, .length = 1100, .queries = 1, .sinks = true},
    {.shape = {kF16, 1, 32, 32}, .group = 2, .length = 1100, .queries = 3, .window = 100, .sinks = true},
    {.shape = {kF16, 1, 32, 32}, .group = 1, .length = 1030, .queries = 2, .window = 600, .soft_cap = 3.0f},
    {.shape = {kF32, 1, 32, 32}, .group = 2, .length = 90, .queries = 3, .alibi = true},
    {.shape = {kQ8_0, 2, 32, 32}, .group = 1, .length = 90, .queries = 90, .bidirectional = true, .alibi = true},
    {.shape = {kF16, 1, 32, 32}, .group = 1, .length = 600, .queries = 2, .window = 40, .bidirectional = true},
};

TEST(PagesOnGpu, AreWrittenWithTheReferencesBytes) {
  for (const Case& c : kCases) {
    const Problem problem(c);
    for (const LaneOrder order : kOrders) ASSERT_EQ(problem.WrittenBy(order), problem.Memory());
  }
}

TEST(AttentionOnGpu, HasTheReferencesBits) {
  for (const Case& c : kCases) {
    Problem problem(c);
    const std::vector<float> expected = problem.Expected();
    for (const LaneOrder order : kOrders) ASSERT_EQ(problem.AttendedBy(order), expected) << c.length << " keys";
  }
}

}  // namespace
}  // namespace inferd::kernels::gpu
