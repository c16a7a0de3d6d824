// inferd-model logits FILE: one sequence through the model, its logits (or an encoder's hidden states) into a file.
#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/base/command_line.h"
#include "config/base/print.h"
#include "config/base/status.h"
#include "engine/forward/forward.h"
#include "engine/gguf/split_name.h"
#include "engine/tools/progress.h"
#include "engine/tools/runnable.h"
#include "engine/tools/verbs.h"

namespace inferd::tools {
namespace {

constexpr size_t kChunkTokens = 64;  // of decoders; encoders take all at once

struct Options {
  std::string path;
  std::string tokens;
  std::string output;
  kernels::CacheType kv_cache = kernels::CacheType::kF32;
  int32_t threads = 0;
  bool as_json = false;
};

absl::StatusOr<std::vector<int32_t>> ParseTokens(std::string_view text) {
  std::vector<int32_t> out;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    int32_t id = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), id);
    if (error != std::errc() || end != item.data() + item.size()) {
      return InvalidArgument("'{}' is no token id, expected numbers joined by commas", item);
    }
    out.push_back(id);
  }
  if (out.empty()) return InvalidArgument("is empty, expected at least one token id");
  return out;
}

absl::Status WriteRows(Runnable& runnable, std::span<const int32_t> tokens, std::ofstream& output) {
  const bool encoder = runnable.model->spec().encoder;
  ASSIGN_OR_RETURN(const auto sequence, runnable.device->cache().NewSequence({}));
  const size_t chunk_tokens = encoder ? tokens.size() : kChunkTokens;
  Progress progress("tokens", tokens.size());
  for (size_t begin = 0; begin < tokens.size(); begin += chunk_tokens) {
    const auto chunk = tokens.subspan(begin, std::min(chunk_tokens, tokens.size() - begin));
    RETURN_IF_ERROR(runnable.device->cache().Reserve(*sequence, static_cast<int64_t>(chunk.size())));
    const forward::SequenceStep step = {sequence.get(), chunk, forward::Rows::kAll};
    ASSIGN_OR_RETURN(forward::ForwardResult result, encoder ? forward::ForwardHidden(*runnable.device, {&step, 1})
                                                            : forward::Forward(*runnable.device, {&step, 1}));
    for (int64_t row = 0; row < result.rows(); ++row) {
      ASSIGN_OR_RETURN(const std::span<const float> values, result.Row(row));
      output.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
    }
    progress.Advance(chunk.size());
  }
  return absl::OkStatus();
}

// Writing would cut the file that is mapped.
absl::Status CheckOutput(const Options& options) {
  std::vector<std::string> files = {options.path};
  if (const auto split = gguf::ParseSplitName(options.path)) {
    for (uint32_t part = 1; part <= split->count; ++part) {
      files.push_back(gguf::FormatSplitName({split->prefix, part, split->count}));
    }
  }
  for (const std::string& file : files) {
    std::error_code missing;  // a new file is nobody's
    if (std::filesystem::equivalent(file, options.output, missing)) {
      return InvalidArgument("--output {}: is the model", options.output);
    }
  }
  return absl::OkStatus();
}

absl::Status Logits(const Options& options) {
  ASSIGN_OR_RETURN(const std::vector<int32_t> tokens, ParseTokens(options.tokens));
  const auto count = static_cast<int64_t>(tokens.size());
  ASSIGN_OR_RETURN(Runnable runnable, OpenRunnable(options.path, {.threads = options.threads,
                                                                  .tokens = count,
                                                                  .sequences = 1,
                                                                  .batch_tokens = count,
                                                                  .result_rows = count,
                                                                  .cache_type = options.kv_cache}));
  RETURN_IF_ERROR(CheckOutput(options));
  std::ofstream output(options.output, std::ios::binary | std::ios::trunc);
  if (!output) return FromErrno(errno, options.output);
  RETURN_IF_ERROR(WriteRows(runnable, tokens, output));
  if (!output.flush()) return FromErrno(errno, options.output);
  const bool encoder = runnable.model->spec().encoder;
  const int64_t columns = encoder ? runnable.model->spec().width : runnable.model->vocabulary_size();
  if (options.as_json) {
    Print("{{\"output\":\"{}\",\"shape\":[{},{}]}}\n", encoder ? "hidden" : "logits", count, columns);
  } else {
    Print("{}: {} f32 [{}][{}]\n", options.output, encoder ? "hidden states" : "logits", count, columns);
  }
  return absl::OkStatus();
}

}  // namespace

void AddLogits(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = program.add_subcommand(
      "logits", "Writes the logits of one sequence (float32, [tokens][n_vocab]; encoders: hidden states).");
  verb->add_option("FILE", options->path, "model file (GGUF)")->required();
  verb->add_option("--tokens", options->tokens, "token ids, joined by commas; positions from 0")
      ->required()
      ->check(ReadBy(ParseTokens));
  verb->add_option("--output", options->output, "file to write")->required();
  const std::map<std::string, kernels::CacheType> types = {
      {"f32", kernels::CacheType::kF32}, {"f16", kernels::CacheType::kF16}, {"q8_0", kernels::CacheType::kQ8_0}};
  verb->add_option("--kv-cache", options->kv_cache, "type of keys and values: f32, f16 or q8_0")
      ->transform(CLI::CheckedTransformer(types))
      ->default_str("f32");
  AddThreads(*verb, options->threads);
  verb->add_flag("--json", options->as_json, "print the shape as JSON");
  verb->callback([options, &action] { action = [options] { return Logits(*options); }; });
}

}  // namespace inferd::tools
