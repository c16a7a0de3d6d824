// Every variant gives the reference's bits, whatever the shapes and values: bytes choose a kernel, its sizes and raw
// finite floats. Where the result is NaN (infinities met on the way), any NaN will do.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/kernel_testing.h"
#include "kernels/kernels.h"
#include "kernels/testing/block_parts.h"

namespace inferd::kernels {
namespace {

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  uint32_t Next() {
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | (size_ == 0 ? 0 : data_[at_++ % size_]);
    return value;
  }
  int32_t Between(int32_t low, int32_t high) {
    return low + static_cast<int32_t>(Next() % static_cast<uint32_t>(high - low + 1));
  }
  bool Coin() { return Next() % 2 == 1; }

  // Finite floats: half of them of any size, or none, and the others near 1. Bytes repeat, mixed with their place.
  std::vector<float> Floats(int64_t n, bool of_any_size = true) {
    std::vector<float> values(static_cast<size_t>(n));
    for (float& value : values) {
      uint32_t bits = Mixed(&value - values.data());
      if ((bits & 1) != 0 || !of_any_size) bits = (bits & 0x80FFFFFFu) | 0x3F000000u;
      if ((bits & 0x7F800000u) == 0x7F800000u) bits &= ~0x00800000u;
      std::memcpy(&value, &bits, sizeof(value));
    }
    return values;
  }

  std::vector<uint8_t> Raw(size_t n) {
    std::vector<uint8_t> values(n);
    for (size_t i = 0; i < n; ++i) values[i] = static_cast<uint8_t>(Mixed(static_cast<int64_t>(i)) >> 24);
    return values;
  }

 private:
  uint32_t Mixed(int64_t place) { return Next() ^ (static_cast<uint32_t>(place) * 2654435761u); }

  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0 && (a[i] == a[i] || b[i] == b[i])) return false;
  }
  return true;
}

// run(kernels) returns all that a kernel made, as floats.
template <class Run>
void Compare(const char* what, const Run& run) {
  const std::vector<float> expected = run(*SelectKernels("reference"));
  for (const Kernels* kernels : RunnableVariants()) {
    if (!SameBits(run(*kernels), expected)) {
      std::fprintf(stderr, "%s differs in %s\n", what, kernels->name);
      std::abort();
    }
  }
}

void FuzzRows(Bytes& bytes) {
  const int64_t n = bytes.Between(1, 200);
  const std::vector<float> x = bytes.Floats(n), y = bytes.Floats(n), z = bytes.Floats(n);
  const float factor = bytes.Floats(1)[0];
  const Activation kind = static_cast<Activation>(bytes.Between(0, static_cast<int>(Activation::kGeluHalf)));
  Compare("rows", [&](const Kernels& k) {
    std::vector<float> out(static_cast<size_t>(9 * n));
    float* rows = out.data();
    k.activate(kind, x.data(), n, rows);
    k.gate(kind, x.data(), y.data(), n, rows + n);
    k.rms_norm(x.data(), y.data(), 1e-5f, n, rows + 2 * n);
    k.layer_norm(x.data(), y.data(), z.data(), 1e-5f, n, rows + 3 * n);
    k.l2_norm(x.data(), 1e-6f, n, rows + 4 * n);
    k.softmax(x.data(), n, rows + 5 * n);
    k.soft_cap(x.data(), 30.0f, n, rows + 6 * n);
    k.add_scaled(x.data(), factor, n, rows + 7 * n);
    k.scale(x.data(), factor, n, rows + 8 * n);
    out.push_back(k.log_sum_exp(x.data(), n));
    out.push_back(static_cast<float>(k.argmax(x.data(), n)));
    std::vector<TopEntry> top(static_cast<size_t>(n));
    const int32_t count = k.top_k(x.data(), n, static_cast<int32_t>(n / 3 + 1), top.data());
    for (int32_t i = 0; i < count; ++i) out.push_back(static_cast<float>(top[static_cast<size_t>(i)].id));
    return out;
  });
}

void FuzzAttention(Bytes& bytes) {
  PageShape shape;
  shape.type = static_cast<CacheType>(bytes.Between(0, 2));
  const int32_t unit = shape.type == CacheType::kQ8_0 ? 32 : 1;
  shape.kv_heads = bytes.Between(1, 2);
  shape.k_dim = unit * bytes.Between(1, 96 / unit);
  shape.v_dim = unit * bytes.Between(1, 96 / unit);
  const int32_t group = bytes.Between(1, 17);
  const int64_t queries = bytes.Between(1, 40), position = bytes.Between(0, bytes.Coin() ? 150 : 1100);
  const bool encoder = bytes.Between(0, 3) == 0;
  const int64_t keys = position + queries;
  const int64_t window = bytes.Coin() ? bytes.Between(1, 100) : 0;
  const int64_t k_row = static_cast<int64_t>(shape.kv_heads) * shape.k_dim;
  const int64_t v_row = static_cast<int64_t>(shape.kv_heads) * shape.v_dim;
  const std::vector<float> k_rows = bytes.Floats(keys * k_row), v_rows = bytes.Floats(keys * v_row);
  const std::vector<float> q = bytes.Floats(queries * group * shape.k_dim);
  const std::vector<float> slopes = bytes.Floats(group), sinks = bytes.Floats(group);
  const float soft_cap = bytes.Coin() ? 20.0f : 0.0f;
  const bool alibi = bytes.Coin(), sunk = bytes.Coin();
  Compare("attention", [&](const Kernels& k) {
    std::vector<AlignedBytes> storage;
    std::vector<const void*> pages;
    for (int64_t first = 0; first < keys; first += kPageTokens) {
      AlignedBytes& page = storage.emplace_back(k.page_bytes(shape));
      const int32_t tokens = static_cast<int32_t>(std::min<int64_t>(kPageTokens, keys - first));
      k.write_kv(shape, page.data(), 0, tokens, k_rows.data() + first * k_row, k_row, v_rows.data() + first * v_row,
                 v_row);
      pages.push_back(page.data());
    }
    AlignedBytes scratch(k.attention_scratch_bytes(shape, group, queries));
    std::vector<float> out(static_cast<size_t>(queries * group * shape.v_dim));
    k.attention({.shape = shape,
                 .pages = pages.data(),
                 .kv_head = shape.kv_heads - 1,
                 .group = group,
                 .queries = queries,
                 .position = position,
                 .first_key = window == 0 && !encoder ? position / 2 : 0,
                 .window = window,
                 .bidirectional_end = encoder ? keys : 0,
                 .q = q.data(),
                 .q_stride = static_cast<int64_t>(group) * shape.k_dim,
                 .out = out.data(),
                 .out_stride = static_cast<int64_t>(group) * shape.v_dim,
                 .scale = 0.125f,
                 .soft_cap = soft_cap,
                 .alibi_slopes = alibi ? slopes.data() : nullptr,
                 .sinks = sunk ? sinks.data() : nullptr,
                 .scratch = scratch.data()});
    return out;
  });
}

void FuzzDelta(Bytes& bytes) {
  const int32_t k_dim = bytes.Between(1, 40), v_dim = bytes.Between(1, 140);
  const int64_t tokens = bytes.Between(1, 5);
  const std::vector<float> start = bytes.Floats(static_cast<int64_t>(k_dim) * v_dim);
  const std::vector<float> q = bytes.Floats(tokens * k_dim), k_rows = bytes.Floats(tokens * k_dim);
  const std::vector<float> v = bytes.Floats(tokens * v_dim), gates = bytes.Floats(tokens);
  Compare("delta rule", [&](const Kernels& k) {
    std::vector<float> state = start, out(static_cast<size_t>(tokens * v_dim));
    k.delta_rule({.k_dim = k_dim,
                  .v_dim = v_dim,
                  .scale = 0.5f,
                  .state = state.data(),
                  .tokens = tokens,
                  .q = q.data(),
                  .k = k_rows.data(),
                  .qk_stride = k_dim,
                  .v = v.data(),
                  .v_stride = v_dim,
                  .log_decay = gates.data(),
                  .beta = gates.data(),
                  .gate_stride = 1,
                  .out = out.data(),
                  .out_stride = v_dim});
    out.insert(out.end(), state.begin(), state.end());
    return out;
  });
}

const TypeTraits& AnyType(Bytes& bytes) {
  std::vector<const TypeTraits*> types;
  for (uint32_t id = 0; id < 64; ++id) {
    if (const TypeTraits* traits = FindTensorType(id)) types.push_back(traits);
  }
  return *types[static_cast<size_t>(bytes.Between(0, static_cast<int32_t>(types.size()) - 1))];
}

// Makes infinities and NaN finite, which would spoil whole rows. Those of block types are in their halves.
void ClearInfinities(const TypeTraits& traits, std::vector<uint8_t>& weights) {
  for (size_t i = 0; i < weights.size(); i += traits.block_bytes) {
    uint8_t* block = weights.data() + i;
    if (traits.activation == ActivationFormat::kFloat) {
      const int exponent = traits.type == TensorType::kF16 ? 0x7C : 0x7F;
      if ((block[traits.block_bytes - 1] & exponent) == exponent) block[traits.block_bytes - 1] ^= 0x40;
      continue;
    }
    const testing::BlockParts& parts = testing::PartsOf(traits.type);
    for (int half = 0; half < HalvesIn(parts); ++half) {
      const uint16_t bits = GetHalf(parts, block, half);
      if ((bits & 0x7C00) == 0x7C00) PutHalf(parts, block, half, bits ^ 0x4000);
    }
  }
}

void FuzzMatmul(Bytes& bytes) {
  const TypeTraits& traits = AnyType(bytes);
  constexpr int64_t kMostProducts = 1 << 20;
  const int64_t block = traits.block_elements, rows = bytes.Between(1, 67);
  const int64_t k = block * bytes.Between(1, static_cast<int32_t>(20 * 256 / block));
  const int64_t most_tokens = std::clamp<int64_t>(kMostProducts / (rows * k), 1, 64);
  const int64_t tokens = bytes.Between(1, static_cast<int32_t>(most_tokens));
  const int64_t row_end = bytes.Between(1, static_cast<int32_t>(rows));
  const int64_t row_begin = bytes.Between(0, static_cast<int32_t>(row_end)) / kRowGroup * kRowGroup;
  const size_t row_bytes = static_cast<size_t>(k / block) * traits.block_bytes;
  std::vector<uint8_t> weights = bytes.Raw(static_cast<size_t>(rows) * row_bytes);
  ClearInfinities(traits, weights);
  const std::vector<float> x = bytes.Floats(tokens * k, bytes.Between(0, 3) == 0);
  std::vector<int32_t> sources;
  for (int64_t t = 0; t < tokens; ++t) sources.push_back(bytes.Between(0, static_cast<int32_t>(tokens - 1)));
  const bool scattered = bytes.Coin();
  Compare(traits.name, [&](const Kernels& kernels) {
    AlignedBytes y(static_cast<size_t>(tokens) * kernels.activation_row_bytes(traits.activation, k));
    kernels.quantize_rows(traits.activation, x.data(), tokens, k, y.data());
    AlignedBytes scratch(kernels.matmul_scratch_bytes(traits.type, k));
    std::vector<float> out(static_cast<size_t>(tokens * rows)), row(static_cast<size_t>(k));
    kernels.matmul({.weights = {traits.type, weights.data(), rows, k, row_bytes},
                    .row_begin = row_begin,
                    .row_end = row_end,
                    .activations = y.data(),
                    .activation_rows = scattered ? sources.data() : nullptr,
                    .tokens = tokens,
                    .out = out.data(),
                    .out_stride = rows,
                    .scratch = scratch.data()});
    kernels.dequantize_row(traits.type, weights.data(), k, row.data());
    out.insert(out.end(), row.begin(), row.end());
    return out;
  });
}

void FuzzRope(Bytes& bytes) {
  const int64_t pairs = bytes.Between(1, 70), stride = 2 * pairs + bytes.Between(0, 20), heads = bytes.Between(1, 4);
  const int64_t position = bytes.Between(0, 1 << 28);
  const std::vector<float> numbers = bytes.Floats(pairs, false), x = bytes.Floats(heads * stride);
  const RopePairing pairing = bytes.Coin() ? RopePairing::kHalves : RopePairing::kNeighbours;
  std::vector<double> frequencies;
  for (const float number : numbers) frequencies.push_back(number < 0 ? -number * 0.001 : number);
  Compare("rope", [&](const Kernels& k) {
    std::vector<float> table(static_cast<size_t>(2 * pairs)), out = x;
    k.rope_table(position, frequencies.data(), pairs, 1.5f, table.data());
    k.rope(out.data(), heads, stride, 2 * pairs, pairing, table.data());
    out.insert(out.end(), table.begin(), table.end());
    return out;
  });
}

void FuzzRoute(Bytes& bytes) {
  const int32_t groups = bytes.Between(0, 8), experts = std::max(groups, 1) * bytes.Between(2, 70);
  const std::vector<float> logits = bytes.Floats(experts, bytes.Coin()), bias = bytes.Floats(experts, bytes.Coin());
  std::vector<int32_t> ids(static_cast<size_t>(bytes.Between(1, experts)));
  const RouterArguments arguments = {.score = static_cast<RouterScore>(bytes.Between(0, 2)),
                                     .experts = experts,
                                     .chosen = static_cast<int32_t>(ids.size()),
                                     .logits = logits.data(),
                                     .selection_bias = bytes.Coin() ? bias.data() : nullptr,
                                     .groups = groups,
                                     .groups_used = groups == 0 ? 0 : bytes.Between(1, groups),
                                     .normalize = bytes.Coin(),
                                     .scale = 2.5f,
                                     .ids = ids.data()};
  Compare("route", [&](const Kernels& k) {
    RouterArguments a = arguments;
    std::vector<float> weights(ids.size());
    a.weights = weights.data();
    k.route(a);
    weights.insert(weights.end(), ids.begin(), ids.end());
    return weights;
  });
}

}  // namespace
}  // namespace inferd::kernels

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  inferd::kernels::Bytes bytes(data, size);
  switch (bytes.Between(0, 5)) {
    case 0:
      inferd::kernels::FuzzRows(bytes);
      break;
    case 1:
      inferd::kernels::FuzzAttention(bytes);
      break;
    case 2:
      inferd::kernels::FuzzDelta(bytes);
      break;
    case 3:
      inferd::kernels::FuzzMatmul(bytes);
      break;
    case 4:
      inferd::kernels::FuzzRope(bytes);
      break;
    case 5:
      inferd::kernels::FuzzRoute(bytes);
      break;
  }
  return 0;
}
