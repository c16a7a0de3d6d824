// inferd-model bench: measures this machine's limits and a model's speed, or makes a model to measure.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "config/base/status.h"
#include "engine/tools/make_model.h"
#include "engine/tools/verbs.h"

namespace inferd::tools {
namespace {

using kernels::TensorType;

struct Options {
  std::string path;
  std::string make_model;
  std::string shape = "llama-1b";
  std::string type = "Q4_K";
  std::string head_type;
};

absl::StatusOr<TensorType> ParseType(std::string_view name) {
  std::string known;
  for (uint32_t id = 0; id < 64; ++id) {
    const kernels::TypeTraits* traits = kernels::FindTensorType(id);
    if (traits == nullptr) continue;
    if (name == traits->name) return traits->type;
    known += fmt::format(" {}", traits->name);
  }
  return InvalidArgument("type: '{}' is unknown, expected one of{}", name, known);
}

absl::Status Bench(const Options& options) {
  ASSIGN_OR_RETURN(const ModelShape shape, ParseShape(options.shape));
  ASSIGN_OR_RETURN(const TensorType type, ParseType(options.type));
  ASSIGN_OR_RETURN(const TensorType head_type, ParseType(options.head_type.empty() ? options.type : options.head_type));
  return MakeModel(shape, type, head_type, options.make_model);
}

}  // namespace

void AddBench(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = program.add_subcommand("bench", "Measures the machine and a model, or makes a model to measure.");
  verb->add_option("--make-model", options->make_model, "write a model with random weights to this path")->required();
  verb->add_option("--shape", options->shape, "llama-1b, llama-tiny, or key=value,...")->capture_default_str();
  verb->add_option("--type", options->type, "tensor type of the matrices")->capture_default_str();
  verb->add_option("--head-type", options->head_type, "tensor type of embedding and head (default: --type)");
  verb->callback([options, &action] { action = [options] { return Bench(*options); }; });
}

}  // namespace inferd::tools
