#include "engine/quantize/plan.h"

#include <utility>

#include "config/base/status.h"
#include "engine/gguf/parse.h"
#include "engine/quantize/tensor_mix.h"
#include "engine/tokenizer/pattern.h"

namespace inferd::quantize {
namespace {

using gguf::GgufFile;
using gguf::Printable;
using gguf::Tensor;
using kernels::TensorType;
using kernels::TraitsOf;
using tokenizer::Pattern;

struct CompiledChoice {
  Pattern pattern;
  const TensorChoice* choice;
  bool matched_any = false, matched_quantizable = false;
};

absl::StatusOr<std::vector<CompiledChoice>> Compile(const std::vector<TensorChoice>& choices) {
  std::vector<CompiledChoice> out;
  for (const TensorChoice& choice : choices) {
    absl::StatusOr<Pattern> pattern = Pattern::Compile(choice.expression);
    if (!pattern.ok()) return Annotate(pattern.status(), "--tensor " + Printable(choice.expression));
    out.push_back({*std::move(pattern), &choice});
  }
  return out;
}

absl::StatusOr<bool> Matches(const Pattern& pattern, std::string_view name) {
  bool found = false;
  RETURN_IF_ERROR(pattern.ForEachMatch(name, [&](size_t, size_t) { found = true; }));
  return found;
}

// nullptr: none fits. Notes for every choice what it matched.
absl::StatusOr<const TensorChoice*> ChoiceFor(const Tensor& tensor, bool quantizable,
                                              std::vector<CompiledChoice>& choices) {
  const TensorChoice* first = nullptr;
  for (CompiledChoice& choice : choices) {
    ASSIGN_OR_RETURN(const bool matches, Matches(choice.pattern, tensor.name));
    if (!matches) continue;
    choice.matched_any = true;
    choice.matched_quantizable = choice.matched_quantizable || quantizable;
    if (first == nullptr) first = choice.choice;
  }
  return first;
}

absl::Status CheckMatched(const GgufFile& file, const std::vector<CompiledChoice>& choices) {
  for (const CompiledChoice& choice : choices) {
    const std::string name = "--tensor " + Printable(choice.choice->expression);
    if (!choice.matched_any) return InvalidArgument("{}: matches no tensor of {}", name, file.path());
    if (!choice.matched_quantizable) {
      return InvalidArgument("{}: matches only tensors of {} that stay as they are (norms, biases, routers)", name,
                             file.path());
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTarget(const Tensor& tensor, TensorType type, const PlanOptions& options) {
  const kernels::TypeTraits& traits = TraitsOf(type);
  if (tensor.dims[0] % traits.block_elements != 0) {
    return InvalidArgument("{}: has rows of {} values, expected a multiple of {} for {}", Printable(tensor.name),
                           tensor.dims[0], traits.block_elements, traits.name);
  }
  if (!IsFloatType(tensor.type) && !options.allow_requantize) {
    return FailedPrecondition(
        "{}: is {} already and would lose more as {}, expected a model of F32, F16 or BF16 (or --allow-requantize)",
        Printable(tensor.name), TraitsOf(tensor.type).name, traits.name);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TensorChoice> ParseTensorChoice(std::string_view text) {
  const size_t at = text.rfind('=');
  if (at == text.npos || at == 0) {
    return InvalidArgument("'{}' is no choice of a type, expected REGEX=TYPE, e.g. ffn_down=Q6_K", text);
  }
  const kernels::TypeTraits* traits = FindTensorTypeByName(text.substr(at + 1));
  if (traits == nullptr) {
    return InvalidArgument("'{}' is no tensor type, expected one such as F16, Q8_0, Q6_K or IQ4_XS",
                           text.substr(at + 1));
  }
  return TensorChoice{std::string(text.substr(0, at)), traits->type};
}

absl::StatusOr<Plan> MakePlan(const GgufFile& file, const PlanOptions& options) {
  if (options.importance != nullptr) RETURN_IF_ERROR(options.importance->CheckModel(file));
  ASSIGN_OR_RETURN(std::vector<CompiledChoice> choices, Compile(options.choices));
  ASSIGN_OR_RETURN(const TensorMix mix, TensorMix::Create(file, *options.file_type, options.importance != nullptr));
  Plan plan;
  for (const Tensor& tensor : file.tensors()) {
    const bool quantizable = IsQuantizable(tensor);
    ASSIGN_OR_RETURN(const TensorChoice* choice, ChoiceFor(tensor, quantizable, choices));
    PlannedTensor planned = {&tensor, tensor.type, tensor.bytes, false};
    if (quantizable) {
      const TensorType wanted = choice != nullptr ? choice->type : mix.TypeOf(tensor);
      planned.type = choice != nullptr ? wanted : TypeForRows(wanted, tensor.dims[0]);
      planned.smaller_blocks = planned.type != wanted;
      if (planned.type != tensor.type) RETURN_IF_ERROR(CheckTarget(tensor, planned.type, options));
      planned.bytes = tensor.elements() / TraitsOf(planned.type).block_elements * TraitsOf(planned.type).block_bytes;
    }
    plan.source_bytes += tensor.bytes;
    plan.bytes += planned.bytes;
    plan.elements += tensor.elements();
    plan.tensors.push_back(planned);
  }
  RETURN_IF_ERROR(CheckMatched(file, choices));
  return plan;
}

}  // namespace inferd::quantize
