// inferd-model quantize: a model into a smaller one.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/base/command_line.h"
#include "config/base/print.h"
#include "config/base/status.h"
#include "engine/device/factory/device_factory.h"
#include "engine/gguf/gguf_file.h"
#include "engine/gguf/parse.h"
#include "engine/quantize/write_model.h"
#include "engine/tools/progress.h"
#include "engine/tools/verbs.h"

namespace inferd::tools {
namespace {

namespace json = boost::json;
using gguf::GgufFile;
using quantize::FileType;
using quantize::Importance;
using quantize::Plan;
using quantize::PlannedTensor;

struct Options {
  std::string input, output, type, importance;
  std::vector<std::string> choices;
  uint64_t max_bytes = 0;
  int32_t threads = 0;
  bool allow_requantize = false, dry_run = false, as_json = false;
};

absl::StatusOr<const FileType*> ParseFileType(std::string_view name) {
  if (const FileType* type = quantize::FindFileType(name)) return type;
  return InvalidArgument("'{}' is no file type, expected one of {}", name, quantize::FileTypeNames());
}

double BitsPerWeight(uint64_t bytes, uint64_t elements) {
  return elements == 0 ? 0 : 8.0 * static_cast<double>(bytes) / static_cast<double>(elements);
}

const char* NameOf(kernels::TensorType type) { return kernels::TraitsOf(type).name; }

void PrintJson(const Plan& plan, const std::vector<std::string>& paths, bool written) {
  json::array tensors;
  for (const PlannedTensor& tensor : plan.tensors) {
    tensors.push_back({{"name", inferd::Printable(tensor.source->name)},
                       {"from", NameOf(tensor.source->type)},
                       {"to", NameOf(tensor.type)},
                       {"bytes", tensor.bytes},
                       {"smaller_blocks", tensor.smaller_blocks}});
  }
  const json::object out = {{written ? "written" : "would_write", json::array(paths.begin(), paths.end())},
                            {"bytes", plan.bytes},
                            {"bits_per_weight", BitsPerWeight(plan.bytes, plan.elements)},
                            {"tensors", std::move(tensors)}};
  Print("{}\n", json::serialize(out));
}

void PrintText(const Plan& plan, const std::vector<std::string>& paths, const Options& options) {
  size_t smaller = 0;
  for (const PlannedTensor& tensor : plan.tensors) {
    smaller += tensor.smaller_blocks ? 1 : 0;
    if (!options.dry_run) continue;
    Print("  {:<44} {:>8} -> {:<8} {:>14} bytes{}\n", gguf::Printable(tensor.source->name), NameOf(tensor.source->type),
          NameOf(tensor.type), tensor.bytes, tensor.smaller_blocks ? " *" : "");
  }
  if (smaller > 0) {
    Print("{} tensors have rows that blocks of 256 values do not divide, so they take a larger type{}.\n", smaller,
          options.dry_run ? " (*)" : "");
  }
  for (const std::string& path : paths) Print("{}{}\n", options.dry_run ? "would write " : "", path);
  Print("{} bytes of tensors, {:.2f} bits per weight (before: {} bytes, {:.2f})\n", plan.bytes,
        BitsPerWeight(plan.bytes, plan.elements), plan.source_bytes, BitsPerWeight(plan.source_bytes, plan.elements));
}

absl::Status Quantize(const Options& options) {
  ASSIGN_OR_RETURN(const FileType* const file_type, ParseFileType(options.type));
  quantize::PlanOptions plan_options = {.file_type = file_type, .allow_requantize = options.allow_requantize};
  for (const std::string& text : options.choices) {
    ASSIGN_OR_RETURN(quantize::TensorChoice choice, quantize::ParseTensorChoice(text));
    plan_options.choices.push_back(std::move(choice));
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<const GgufFile> file, GgufFile::Open(options.input));
  std::optional<Importance> importance;
  if (!options.importance.empty()) {
    ASSIGN_OR_RETURN(importance, Importance::Read(options.importance));
    plan_options.importance = &*importance;
  }
  absl::StatusOr<Plan> plan = quantize::MakePlan(*file, plan_options);
  if (!plan.ok()) return Annotate(plan.status(), options.input);
  Progress progress("quantizing", plan->source_bytes);
  const quantize::WriteOptions write_options = {
      .path = options.output,
      .max_part_bytes = options.max_bytes,
      .file_type = file_type,
      .importance = plan_options.importance,
      .threads = options.threads == 0 ? device::DefaultThreads() : options.threads,
      .done = [&progress](uint64_t bytes) { progress.Advance(bytes); },
  };
  absl::StatusOr<std::vector<std::string>> paths =
      options.dry_run ? quantize::OutputPaths(*plan, write_options) : quantize::WriteModel(*file, *plan, write_options);
  if (!paths.ok()) return paths.status();
  options.as_json ? PrintJson(*plan, *paths, !options.dry_run) : PrintText(*plan, *paths, options);
  return absl::OkStatus();
}

}  // namespace

void AddQuantize(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = program.add_subcommand("quantize", "Makes a model smaller: its weights in fewer bits.");
  verb->add_option("IN", options->input, "model file (GGUF; of a model in parts the first)")->required();
  verb->add_option("OUT", options->output, "file to write; it must not exist")->required();
  verb->add_option("--type", options->type, "file type: " + quantize::FileTypeNames())
      ->required()
      ->check(ReadBy(ParseFileType));
  verb->add_option("--tensor", options->choices,
                   "REGEX=TYPE: this type for the tensors in whose name the expression is found, e.g. 'ffn_down=Q6_K'; "
                   "may be given again, the first that fits counts")
      ->check(ReadBy(quantize::ParseTensorChoice))
      ->expected(1)
      ->take_all();
  verb->add_option("--imatrix", options->importance,
                   "file that says how much each column matters (an imatrix run's, GGUF or the older format)");
  verb->add_option("--max-size", options->max_bytes,
                   "write parts OUT-00001-of-0000N.gguf of at most so much: bytes, or with KiB, MiB, GiB")
      ->transform(CLI::AsSizeValue(false));
  AddThreads(*verb, options->threads);
  verb->add_flag("--allow-requantize", options->allow_requantize,
                 "quantize a model that is quantized already; it loses more than one made of the original");
  verb->add_flag("--dry-run", options->dry_run, "write nothing; show what each tensor would become");
  verb->add_flag("--json", options->as_json, "print the types and sizes as JSON");
  verb->callback([options, &action] { action = [options] { return Quantize(*options); }; });
}

}  // namespace inferd::tools
