// inferd-model bench: measures this machine's limits and a model's speed, or makes a model to measure.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <memory>
#include <string>
#include <vector>

#include "config/base/command_line.h"
#include "config/base/print.h"
#include "config/base/status.h"
#include "engine/tools/make_model.h"
#include "engine/tools/measure.h"
#include "engine/tools/verbs.h"

namespace inferd::tools {
namespace {

namespace json = boost::json;
using kernels::TensorType;

struct Options {
  std::string path;
  int32_t threads = 0;
  int64_t prefill = 512;
  int64_t decode = 64;
  int64_t depth = 128;  // tokens before the decoded ones
  std::vector<int64_t> sequences = {1, 4, 16};
  int runs = 3;
  bool blas = false;
  bool as_json = false;

  std::string make_model;
  std::string shape = "llama-1b";
  std::string type = "Q4_K";
  std::string head_type;
};

struct Row {
  const char* test;
  int64_t tokens, sequences;
  double tokens_per_second, share_of_limit;
  bool blas = false;
};

absl::StatusOr<TensorType> ParseType(std::string_view name) {
  std::string known;
  for (uint32_t id = 0; id < 64; ++id) {
    const kernels::TypeTraits* traits = kernels::FindTensorType(id);
    if (traits == nullptr) continue;
    if (name == traits->name) return traits->type;
    known += fmt::format(" {}", traits->name);
  }
  return InvalidArgument("'{}' is no tensor type, expected one of{}", name, known);
}

absl::Status WriteModel(const Options& options) {
  ASSIGN_OR_RETURN(const ModelShape shape, ParseShape(options.shape));
  ASSIGN_OR_RETURN(const TensorType type, ParseType(options.type));
  ASSIGN_OR_RETURN(const TensorType head_type, ParseType(options.head_type.empty() ? options.type : options.head_type));
  return MakeModel(shape, type, head_type, options.make_model);
}

RunnableOptions RunnableOptionsOf(const Options& options) {
  const int64_t sequences = *std::max_element(options.sequences.begin(), options.sequences.end());
  return {.threads = options.threads,
          .tokens = std::max(options.prefill, options.depth + options.decode),
          .sequences = sequences,
          .batch_tokens = std::max<int64_t>(512, sequences),
          .result_rows = sequences,
          .cache_type = kernels::CacheType::kF16};
}

// The same prefill, with float weights multiplied by OpenBLAS.
absl::StatusOr<Row> MeasureBlas(const Options& options, const Runnable& runnable, const MachineLimits& limits) {
  const Workload work = WorkloadOf(*runnable.model);
  if (work.float_ops_per_token == 0) return InvalidArgument("--blas: the model has no float weights");
  RunnableOptions with_blas = RunnableOptionsOf(options);
  with_blas.blas = true;
  ASSIGN_OR_RETURN(Runnable other, MakeRunnable(runnable.model, with_blas));
  ASSIGN_OR_RETURN(const double rate, MeasurePrefill(other, options.prefill, options.runs));
  const double share = ShareOfPrefillLimit(work, limits, options.prefill, rate);
  return Row{"prefill", options.prefill, 1, rate, share, true};
}

absl::StatusOr<std::vector<Row>> MeasureModel(const Options& options, Runnable& runnable, const MachineLimits& limits) {
  const Workload work = WorkloadOf(*runnable.model);
  std::vector<Row> rows;
  if (options.prefill > 0) {
    ASSIGN_OR_RETURN(const double rate, MeasurePrefill(runnable, options.prefill, options.runs));
    rows.push_back({"prefill", options.prefill, 1, rate, ShareOfPrefillLimit(work, limits, options.prefill, rate)});
    if (options.blas) {
      ASSIGN_OR_RETURN(rows.emplace_back(), MeasureBlas(options, runnable, limits));
    }
  }
  for (const int64_t sequences : options.sequences) {
    if (options.decode == 0) break;
    ASSIGN_OR_RETURN(const double rate,
                     MeasureDecode(runnable, sequences, options.depth, options.decode, options.runs));
    rows.push_back({"decode", options.decode, sequences, rate, ShareOfDecodeLimit(work, limits, sequences, rate)});
  }
  return rows;
}

void PrintJson(const std::string& isa, int32_t threads, const MachineLimits& limits, const std::vector<Row>& rows) {
  json::array results;
  for (const Row& row : rows) {
    results.push_back({{"test", row.test},
                       {"tokens", row.tokens},
                       {"sequences", row.sequences},
                       {"tokens_per_second", row.tokens_per_second},
                       {"share_of_limit", row.share_of_limit}});
    if (row.blas) results.back().as_object()["blas"] = true;
  }
  const json::object machine = {{"isa", isa},
                                {"threads", threads},
                                {"int8_ops_per_second", limits.int8_ops_per_second},
                                {"f32_flops_per_second", limits.f32_flops_per_second},
                                {"read_bytes_per_second", limits.read_bytes_per_second}};
  Print("{}\n", json::serialize(json::object{{"machine", machine}, {"results", std::move(results)}}));
}

void PrintText(const std::string& isa, int32_t threads, const MachineLimits& limits, const std::vector<Row>& rows) {
  Print("machine: {}, {} threads, int8 {:.2f} T ops/s, f32 {:.0f} GFLOP/s, read {:.1f} GB/s\n", isa, threads,
        limits.int8_ops_per_second / 1e12, limits.f32_flops_per_second / 1e9, limits.read_bytes_per_second / 1e9);
  Print("{:<8} {:>7} {:>10} {:>12} {:>9}\n", "test", "tokens", "sequences", "tokens/s", "of limit");
  for (const Row& row : rows) {
    Print("{:<8} {:>7} {:>10} {:>12.1f} {:>8.0f}%{}\n", row.test, row.tokens, row.sequences, row.tokens_per_second,
          100 * row.share_of_limit, row.blas ? "   with OpenBLAS" : "");
  }
}

absl::Status Bench(const Options& options) {
  if (!options.make_model.empty()) return WriteModel(options);
  ASSIGN_OR_RETURN(Runnable runnable, OpenRunnable(options.path, RunnableOptionsOf(options)));
  ASSIGN_OR_RETURN(const std::string wanted, ChosenIsa());
  const kernels::Kernels& kernels = *kernels::SelectKernels(wanted.empty() ? nullptr : wanted.c_str());
  const int32_t threads = runnable.threads;
  const MachineLimits limits = MeasureMachine(kernels, threads);
  ASSIGN_OR_RETURN(const std::vector<Row> rows, MeasureModel(options, runnable, limits));
  (options.as_json ? PrintJson : PrintText)(kernels.name, threads, limits, rows);
  return absl::OkStatus();
}

}  // namespace

void AddBench(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = program.add_subcommand("bench", "Measures the machine and a model, or makes a model to measure.");
  CLI::Option_group* model = verb->add_option_group("model", "exactly one of");
  model->add_option("FILE", options->path, "model file (GGUF)");
  model->add_option("--make-model", options->make_model, "write a model with random weights to this path instead");
  model->require_option(1);
  AddThreads(*verb, options->threads);
  verb->add_option("--prefill", options->prefill, "tokens of the prompt (0: no prefill test)")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  verb->add_option("--decode", options->decode, "tokens to decode in each sequence (0: no decode test)")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  verb->add_option("--depth", options->depth, "tokens in each sequence before the decoded ones")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  verb->add_option("--sequences", options->sequences, "numbers of sequences decoded at once, joined by commas")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  verb->add_option("--runs", options->runs, "runs of each test, of which the best counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb->add_flag("--blas", options->blas, "measure prefill with OpenBLAS too, for models with float weights");
  verb->add_flag("--json", options->as_json, "print JSON");
  verb->add_option("--shape", options->shape, "of the model to make: llama-1b, llama-tiny, or key=value,...")
      ->check(ReadBy(ParseShape))
      ->capture_default_str();
  verb->add_option("--type", options->type, "tensor type of its matrices")
      ->check(ReadBy(ParseType))
      ->capture_default_str();
  verb->add_option("--head-type", options->head_type, "tensor type of its embedding and head (default: --type)")
      ->check(ReadBy(ParseType));
  verb->callback([options, &action] { action = [options] { return Bench(*options); }; });
}

}  // namespace inferd::tools
