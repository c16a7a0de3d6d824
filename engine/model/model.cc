#include "engine/model/model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "config/base/status.h"
#include "engine/model/architectures/families.h"
#include "engine/model/binding.h"
#include "engine/model/fingerprint.h"
#include "engine/model/metadata.h"
#include "engine/model/spec_check.h"

namespace inferd::model {
namespace {

// Values that follow from others, so that devices need not know the rule.
void ResolveDefaults(DecoderSpec& spec) {
  for (LayerSpec& layer : spec.layers) {
    AttentionSpec& a = layer.attention;
    if (a.heads > 0 && a.scale == 0) a.scale = 1.0f / std::sqrt(static_cast<float>(a.k_dim));
  }
}

constexpr int64_t kLongestContext = int64_t{1} << 24;  // tokens; the longest that a model was trained for is 10 million

// Values that nothing reads, or that nobody can have meant.
void WarnOfUnusedValues(Metadata& m, const DecoderSpec& spec) {
  constexpr std::string_view kWindow = "attention.sliding_window";
  const auto has_window = [](const LayerSpec& layer) { return layer.attention.window > 0; };
  const bool windows = std::any_of(spec.layers.begin(), spec.layers.end(), has_window);
  if (!windows && m.Has(kWindow)) {
    const absl::StatusOr<int64_t> window = m.file().GetInt(fmt::format("{}.{}", m.architecture(), kWindow));
    if (window.ok() && *window > 0 && *window < spec.context_length) {
      m.Warn(fmt::format("{}.{}: {} is ignored: this family has no window, every layer sees the whole text",
                         m.architecture(), kWindow, *window));
    }
  }
  if (spec.context_length > kLongestContext) {
    m.Warn(fmt::format("{}.context_length: {} is more than any model was trained for, expected at most {}",
                       m.architecture(), spec.context_length, kLongestContext));
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
  WarnOfUnusedValues(metadata, model->spec_);
  model->warnings_ = metadata.warnings();
  RETURN_IF_ERROR(BindWeights(*model->file_, model->spec_, model->weights_, model->warnings_));
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
