#include "engine/quantize/tensor_mix.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "config/base/status.h"

namespace inferd::quantize {
namespace {

using gguf::GgufFile;
using gguf::Tensor;
using kernels::TensorType;
using enum kernels::TensorType;

// What a rule may ask about a tensor's place in the model.
struct Place {
  int64_t layer, layers;
  int64_t rank, ranks;  // among the tensors of Role::kValue
  int64_t gqa;          // query heads of one key and value head
  int64_t experts;
  bool importance, falcon;
};

bool MoreBits(int64_t i, int64_t n) { return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2; }
bool FirstEighth(const Place& p) { return p.layer < p.layers / 8; }
bool FirstSixteenth(const Place& p) { return p.layer < p.layers / 16; }
bool MoreBitsLayer(const Place& p) { return MoreBits(p.layer, p.layers); }

using Condition = bool (*)(const Place&);
bool Always(const Place&) { return true; }
bool EightExperts(const Place& p) { return p.experts == 8; }
bool Grouped(const Place& p) { return p.gqa >= 4; }
bool Falcon(const Place& p) { return p.falcon; }
bool NoImportance(const Place& p) { return !p.importance; }

constexpr uint64_t Files(std::initializer_list<int> ids) {
  uint64_t mask = 0;
  for (const int id : ids) mask |= uint64_t{1} << id;
  return mask;
}
// By general.file_type.
constexpr uint64_t kQ4_0File = Files({2}), kQ5_0File = Files({8}), kQ2_KFile = Files({10}), kQ2_K_SFile = Files({21}),
                   kQ3_K_SFile = Files({11}), kQ3_K_MFile = Files({12}), kQ3_K_LFile = Files({13}),
                   kQ4_K_SFile = Files({14}), kQ4_K_MFile = Files({15}), kQ5_K_MFile = Files({17}),
                   kIQ3_XXSFile = Files({23}), kIQ3_XSFile = Files({22}), kIQ3_SFile = Files({26}),
                   kIQ3_MFile = Files({27}), kIQ4Files = Files({25, 30}), kTernaryFiles = Files({36, 37}),
                   kIQ1Files = Files({24, 31}), kIQ2Larger = Files({28, 29}), kIQ2Smaller = Files({19, 20});
constexpr uint64_t kTiny = kIQ1Files | kIQ2Larger | kIQ2Smaller, kNotTiny = ~kTiny, kAll = ~uint64_t{0};

struct Rule {
  Role role;
  uint64_t files;
  Condition condition;
  TensorType type;
  bool base = false;  // the file type's base instead of `type`
};

// The first rule that fits decides; without one the base does.
constexpr Rule kRules[] = {
    {Role::kEmbedding, kIQ2Smaller | kIQ1Files, Always, kQ2_K},
    {Role::kEmbedding, kIQ2Larger | kIQ3_XXSFile, Always, kIQ3_S},
    {Role::kEmbedding, kTernaryFiles, Always, kQ4_K},

    {Role::kValue, kTiny, [](const Place& p) { return p.gqa >= 4 || p.experts >= 4; }, kQ4_K},
    {Role::kValue, kIQ2Larger, Always, kIQ3_S},
    {Role::kValue, kTiny, Always, kQ2_K},
    {Role::kValue, kAll, EightExperts, kQ8_0},
    {Role::kValue, kQ2_KFile | kQ2_K_SFile, Grouped, kQ4_K},
    {Role::kValue, kQ2_KFile, Always, kQ3_K},
    {Role::kValue, kIQ3_XXSFile | kIQ3_XSFile | kIQ3_SFile, Grouped, kQ4_K},
    {Role::kValue, kIQ3_XXSFile, NoImportance, kIQ3_S},
    {Role::kValue, kIQ3_MFile, Always, kQ4_K},
    {Role::kValue, kQ3_K_MFile, [](const Place& p) { return p.rank < 2; }, kQ5_K},
    {Role::kValue, kQ3_K_MFile, Always, kQ4_K},
    {Role::kValue, kQ3_K_LFile, Always, kQ5_K},
    {Role::kValue, kIQ4Files, Grouped, kQ5_K},
    {Role::kValue, kQ4_K_MFile | kQ5_K_MFile, [](const Place& p) { return MoreBits(p.rank, p.ranks); }, kQ6_K},
    {Role::kValue, kQ4_K_SFile, [](const Place& p) { return p.rank < 4; }, kQ5_K},

    {Role::kKey, kTiny, EightExperts, kQ4_K},
    {Role::kKey, kNotTiny, EightExperts, kQ8_0},
    {Role::kKey, kIQ3_XSFile, Always, kIQ3_XXS},
    {Role::kKey, kIQ3_XXSFile, Always, kIQ2_S},
    {Role::kQuery, kIQ3_XSFile, Always, kIQ3_XXS},
    {Role::kQuery, kIQ3_XXSFile, Always, kIQ2_S},

    {Role::kDown, kIQ2Larger, FirstEighth, kIQ3_S},
    {Role::kDown, kTiny, FirstEighth, kQ2_K},
    {Role::kDown, kQ2_KFile, Always, kQ3_K},
    {Role::kDown, kQ2_K_SFile, FirstEighth, kQ4_K},
    {Role::kDown, kIQ3_XXSFile, [](const Place& p) { return NoImportance(p) && FirstEighth(p); }, kQ4_K},
    {Role::kDown, kIQ3_XXSFile, NoImportance, kQ3_K},
    {Role::kDown, kQ3_K_MFile, FirstSixteenth, kQ5_K},
    {Role::kDown, kQ3_K_MFile, [](const Place& p) { return p.falcon && !MoreBitsLayer(p); }, kQ3_K},
    {Role::kDown, kQ3_K_MFile, Always, kQ4_K},
    {Role::kDown, kIQ3_MFile, [](const Place& p) { return FirstEighth(p) || (EightExperts(p) && MoreBitsLayer(p)); },
     kQ4_K},
    {Role::kDown, kQ3_K_LFile, Falcon, kQ4_K},
    {Role::kDown, kQ3_K_LFile, Always, kQ5_K},
    {Role::kDown, kQ4_K_MFile, [](const Place& p) { return p.falcon && !FirstSixteenth(p) && MoreBitsLayer(p); },
     kQ5_K},
    {Role::kDown, kQ4_K_MFile, [](const Place& p) { return p.falcon ? FirstSixteenth(p) : MoreBitsLayer(p); }, kQ6_K},
    {Role::kDown, kIQ4Files, [](const Place& p) { return NoImportance(p) && FirstEighth(p); }, kQ5_K},
    {Role::kDown, kQ5_K_MFile, MoreBitsLayer, kQ6_K},
    {Role::kDown, kQ4_K_SFile, [](const Place& p) { return !p.falcon && FirstEighth(p); }, kQ5_K},
    {Role::kDown, kQ4_0File, [](const Place& p) { return p.importance && FirstEighth(p); }, kQ4_1},
    {Role::kDown, kQ5_0File, [](const Place& p) { return p.importance && FirstEighth(p); }, kQ5_1},

    {Role::kAttentionOutput, kTiny, EightExperts, kQ5_K},
    {Role::kAttentionOutput, kIQ1Files, Always, kIQ2_XXS},
    {Role::kAttentionOutput, kIQ2Larger, Always, kIQ3_S},
    {Role::kAttentionOutput, kQ3_K_LFile, Falcon, kQ4_K},
    {Role::kAttentionOutput, kAll, Falcon, kF32, /*base=*/true},
    {Role::kAttentionOutput,
     kQ2_KFile | kIQ3_XSFile | kIQ3_XXSFile | kQ3_K_SFile | kQ3_K_MFile | kIQ4Files | kQ4_K_SFile | kQ4_K_MFile |
         kIQ3_SFile | kIQ3_MFile,
     EightExperts, kQ5_K},
    {Role::kAttentionOutput, kAll, EightExperts, kF32, /*base=*/true},
    {Role::kAttentionOutput, kQ2_KFile, Always, kQ3_K},
    {Role::kAttentionOutput, kIQ3_XXSFile, Always, kIQ3_S},
    {Role::kAttentionOutput, kQ3_K_MFile | kIQ3_MFile, Always, kQ4_K},
    {Role::kAttentionOutput, kQ3_K_LFile, Always, kQ5_K},

    {Role::kGate, kIQ3_XSFile, [](const Place& p) { return !FirstEighth(p) && p.layer < 7 * p.layers / 8; }, kIQ3_XXS},
    {Role::kUp, kIQ3_XSFile, [](const Place& p) { return !FirstEighth(p) && p.layer < 7 * p.layers / 8; }, kIQ3_XXS},
};

// Parts of the names of weights that are never quantized.
constexpr std::string_view kKept[] = {
    "_norm.weight",
    "ffn_gate_inp.weight",
    "ffn_gate_tid2eid",
    "altup",
    "laurel",
    "per_layer_model_proj",
    "position_embd",
    "token_types",
    "ssm_conv1d",
    "shortconv.conv",
    "indexer.k_proj",
    "indexer.q_proj",
    "time_mix_first",
    "time_mix_w0",
    "time_mix_w1",
    "time_mix_w2",
    "time_mix_v0",
    "time_mix_v1",
    "time_mix_v2",
    "time_mix_a0",
    "time_mix_a1",
    "time_mix_a2",
    "time_mix_g1",
    "time_mix_g2",
    "time_mix_decay_w1",
    "time_mix_decay_w2",
    "time_mix_lerp_fused",
    "attn_rel_b",
    ".rel_pos",
    ".patch_embd",
    ".patch_merger",
    "a.rvq.codebook",
    "mm.a.code_embd",
    "sam.pos_embd",
    "sam.neck.",
    "sam.net_",
};

constexpr std::pair<std::string_view, Role> kRoles[] = {
    {"attn_qkv.weight", Role::kValue},
    {"attn_kv_b.weight", Role::kValue},
    {"attn_v.weight", Role::kValue},
    {"attn_k.weight", Role::kKey},
    {"attn_q.weight", Role::kQuery},
    {"attn_output.weight", Role::kAttentionOutput},
    {"ffn_up", Role::kUp},
    {"ffn_gate", Role::kGate},
    {"ffn_down", Role::kDown},
};

// Of "blk.12.attn_v.weight" 12; 0 for tensors outside of layers.
int64_t LayerOf(std::string_view name) {
  int64_t layer = 0;
  const size_t at = name.find("blk.");
  if (at != name.npos) std::from_chars(name.data() + at + 4, name.data() + name.size(), layer);
  return layer;
}

bool Has(std::string_view name, std::string_view part) { return name.find(part) != name.npos; }

// The first element of an array, the number otherwise: some models give a count for each layer.
absl::StatusOr<uint64_t> FirstCount(const GgufFile& file, const std::string& key, uint64_t fallback) {
  const gguf::Entry* entry = file.Find(key);
  if (entry == nullptr || entry->type != gguf::ValueType::kArray) return file.GetUintOr(key, fallback);
  ASSIGN_OR_RETURN(const std::vector<int64_t> counts, file.GetInts(key));
  const int64_t largest = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  return static_cast<uint64_t>(std::max<int64_t>(largest, 0));
}

}  // namespace

Role RoleOf(std::string_view name) {
  if (name == "output.weight") return Role::kHead;
  if (name == "token_embd.weight" || name == "per_layer_token_embd.weight") return Role::kEmbedding;
  for (const auto& [part, role] : kRoles) {
    if (Has(name, part)) return role;
  }
  return Role::kOther;
}

bool IsQuantizable(const Tensor& tensor) {
  if (tensor.n_dims < 2 || !tensor.name.ends_with("weight")) return false;
  return std::none_of(std::begin(kKept), std::end(kKept), [&](auto part) { return Has(tensor.name, part); });
}

TensorType TypeForRows(TensorType wanted, uint64_t row_elements) {
  const auto divides = [&](TensorType type) { return row_elements % kernels::TraitsOf(type).block_elements == 0; };
  if (divides(wanted)) return wanted;
  TensorType smaller = kF16;
  switch (wanted) {
    case kQ2_K:
    case kQ3_K:
    case kTQ1_0:
    case kTQ2_0:
      smaller = kQ4_0;
      break;
    case kQ4_K:
      smaller = kQ5_0;
      break;
    case kQ5_K:
      smaller = kQ5_1;
      break;
    case kQ6_K:
      smaller = kQ8_0;
      break;
    default:
      smaller = kernels::TraitsOf(wanted).block_elements == 256 ? kIQ4_NL : kF16;
  }
  return divides(smaller) ? smaller : kF16;
}

absl::StatusOr<TensorMix> TensorMix::Create(const GgufFile& file, const FileType& file_type, bool has_importance) {
  TensorMix mix;
  mix.file_type_ = file_type;
  mix.has_importance_ = has_importance;
  ASSIGN_OR_RETURN(const std::string_view architecture, file.GetString("general.architecture"));
  mix.falcon_ = architecture == "falcon";
  mix.tied_head_ = file.FindTensor("output.weight") == nullptr;
  const std::string prefix = std::string(architecture) + ".";
  ASSIGN_OR_RETURN(const uint64_t layers, file.GetUintOr(prefix + "block_count", 0));
  ASSIGN_OR_RETURN(const uint64_t experts, file.GetUintOr(prefix + "expert_count", 0));
  ASSIGN_OR_RETURN(const uint64_t heads, FirstCount(file, prefix + "attention.head_count", 1));
  ASSIGN_OR_RETURN(const uint64_t kv_heads, FirstCount(file, prefix + "attention.head_count_kv", heads));
  mix.layers_ = static_cast<int64_t>(std::min<uint64_t>(layers, 1 << 20));
  mix.experts_ = static_cast<int64_t>(std::min<uint64_t>(experts, 1 << 20));
  mix.query_heads_of_kv_head_ =
      static_cast<int64_t>(std::min<uint64_t>(heads / std::max<uint64_t>(kv_heads, 1), 1 << 20));
  std::vector<std::pair<int64_t, std::string_view>> values;
  for (const Tensor& tensor : file.tensors()) {
    if (RoleOf(tensor.name) == Role::kValue) values.emplace_back(LayerOf(tensor.name), tensor.name);
  }
  std::sort(values.begin(), values.end());
  mix.values_ = static_cast<int64_t>(values.size());
  for (size_t i = 0; i < values.size(); ++i) mix.value_rank_[values[i].second] = static_cast<int64_t>(i);
  return mix;
}

TensorType TensorMix::HeadType(const Tensor& tensor) const {
  const TensorType base = file_type_.base;
  if (base == kMXFP4 || base == kQ8_0 || falcon_) return kQ8_0;
  if (tensor.dims[0] % kernels::TraitsOf(base).block_elements != 0) return kQ8_0;
  return ((kTiny | kIQ3_XXSFile) >> file_type_.id & 1) != 0 ? kQ5_K : kQ6_K;
}

TensorType TensorMix::TypeOf(const Tensor& tensor) const {
  const TensorType base = file_type_.base;
  if (IsFloatType(base)) return base;
  const Role role = RoleOf(tensor.name);
  if (role == Role::kHead || (tied_head_ && role == Role::kEmbedding)) return HeadType(tensor);
  if (base == kMXFP4) return tensor.dims[2] > 1 ? kMXFP4 : kQ8_0;  // the experts alone
  const auto rank = value_rank_.find(tensor.name);
  const Place place = {LayerOf(tensor.name),
                       layers_,
                       rank == value_rank_.end() ? 0 : rank->second,
                       values_,
                       query_heads_of_kv_head_,
                       experts_,
                       has_importance_,
                       falcon_};
  TensorType type = base;
  for (const Rule& rule : kRules) {
    if (rule.role != role || (rule.files >> file_type_.id & 1) == 0 || !rule.condition(place)) continue;
    type = rule.base ? base : rule.type;
    break;
  }
  // In models of 80 layers eight query heads share each value head, so better values cost next to nothing.
  if (role == Role::kValue && layers_ == 80 && (kNotTiny >> file_type_.id & 1) != 0 &&
      (type == kQ3_K || type == kQ4_K)) {
    type = kQ5_K;
  }
  return type;
}

}  // namespace inferd::quantize
