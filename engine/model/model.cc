#include "engine/model/model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "config/base/status.h"
#include "engine/model/architectures/families.h"
#include "engine/model/binding.h"
#include "engine/model/metadata.h"
#include "engine/model/spec_check.h"

namespace inferd::model {
namespace {

constexpr uint64_t kFnvOffset = 0xCBF29CE484222325u, kFnvPrime = 0x100000001B3u;  // FNV-1a

uint64_t Hash(uint64_t hash, const void* bytes, size_t size) {
  const auto* p = static_cast<const uint8_t*>(bytes);
  for (size_t i = 0; i < size; ++i) hash = (hash ^ p[i]) * kFnvPrime;
  return hash;
}

// Adds a metadata value to the hash, with its type.
struct ValueHasher {
  uint64_t& hash;

  template <typename T>
  void operator()(const T& number) const {
    hash = Hash(hash, &number, sizeof number);
  }
  void operator()(std::string_view text) const { hash = Hash(hash, text.data(), text.size()); }
  void operator()(const gguf::Array& array) const {
    (*this)(array.size);
    if (array.bytes != nullptr) hash = Hash(hash, array.bytes, array.size * gguf::ValueTypeBytes(array.element_type));
    for (std::string_view text : array.strings) {
      (*this)(text.size());
      (*this)(text);
    }
  }
};

// Of all metadata, the tensor table and a sample of every tensor's bytes: reading all of them would take as long as a
// cold load.
uint64_t Fingerprint(const gguf::GgufFile& file) {
  constexpr uint64_t kSample = 256;
  uint64_t hash = kFnvOffset;
  for (const gguf::Entry& entry : file.entries()) {
    hash = Hash(hash, entry.key.data(), entry.key.size());
    std::visit(ValueHasher{hash}, entry.value);
  }
  for (const gguf::Tensor& tensor : file.tensors()) {
    hash = Hash(hash, tensor.name.data(), tensor.name.size());
    hash = Hash(hash, tensor.dims.data(), sizeof tensor.dims);
    hash = Hash(hash, &tensor.type, sizeof tensor.type);
    const uint64_t sample = std::min(kSample, tensor.bytes);
    hash = Hash(hash, tensor.data, sample);
    hash = Hash(hash, tensor.data + tensor.bytes - sample, sample);
  }
  return hash;
}

// Values that follow from others, so that devices need not know the rule.
void ResolveDefaults(DecoderSpec& spec) {
  for (LayerSpec& layer : spec.layers) {
    AttentionSpec& a = layer.attention;
    if (a.heads > 0 && a.scale == 0) a.scale = 1.0f / std::sqrt(static_cast<float>(a.k_dim));
  }
}

}  // namespace

std::vector<std::string> KnownArchitectures() {
  std::vector<std::string> names;
  for (const Family& family : Families()) names.emplace_back(family.name);
  return names;
}

absl::StatusOr<std::shared_ptr<const Model>> Model::Load(std::shared_ptr<const gguf::GgufFile> file) {
  absl::StatusOr<std::string_view> architecture = file->GetString("general.architecture");
  if (!architecture.ok()) return InvalidArgument("{}", MessageOf(architecture.status()));
  const Family* family = FindFamily(*architecture);
  if (family == nullptr) {
    return Unimplemented("{}: general.architecture: \"{}\" is unknown; known: {}", file->path(), *architecture,
                         fmt::join(KnownArchitectures(), ", "));
  }
  auto model = std::shared_ptr<Model>(new Model);
  model->file_ = std::move(file);
  Metadata metadata(*model->file_, std::string(*architecture));
  model->spec_ = family->describe(metadata);
  RETURN_IF_ERROR(metadata.status());
  RETURN_IF_ERROR(Annotate(CheckSpec(model->spec_), model->file_->path()));
  ResolveDefaults(model->spec_);
  RETURN_IF_ERROR(BindWeights(*model->file_, model->spec_, model->weights_));
  for (const gguf::Tensor& tensor : model->file_->tensors()) model->parameter_count_ += tensor.elements();
  model->fingerprint_ = Fingerprint(*model->file_);
  return model;
}

std::string Model::description() const {
  const double parameters = static_cast<double>(parameter_count_);
  const std::string size =
      parameters < 1e9 ? fmt::format("{:.0f}M", parameters / 1e6) : fmt::format("{:.1f}B", parameters / 1e9);
  const LayerWeights& first = weights_.layers.front();
  const Linear& typical = first.feed_forward.up ? first.feed_forward.up : weights_.embedding;
  return fmt::format("{} {} {}", spec_.architecture, size, kernels::TraitsOf(typical.weights.type).name);
}

}  // namespace inferd::model
