// inferd-model perplexity FILE: how well the model predicts a text.
//
// The method is the usual one for GGUF models: the text's tokens are cut into windows of the context; each window is
// evaluated alone (its first token replaced by BOS where the file adds one), and the tokens of its second half, which
// have at least half a window before them, are scored. Perplexity is exp of the mean negative log-likelihood.
// K and V are kept as floats: the figure tells of the weights and the arithmetic alone.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "config/base/print.h"
#include "config/base/status.h"
#include "engine/forward/forward.h"
#include "engine/tokenizer/tokenizer.h"
#include "engine/tools/input.h"
#include "engine/tools/progress.h"
#include "engine/tools/runnable.h"
#include "engine/tools/verbs.h"

namespace inferd::tools {
namespace {

constexpr int64_t kResultRows = 64;

struct Options {
  std::string path;
  std::string text_file;
  int64_t context = 512;
  int64_t stride = 0;
  int32_t threads = 0;
  bool as_json = false;
};

struct Score {
  double sum = 0;  // of negative log-likelihoods
  double squares = 0;
  int64_t tokens = 0;

  double Mean() const { return sum / static_cast<double>(tokens); }
  // Standard error of exp(mean).
  double Error() const {
    const auto n = static_cast<double>(tokens);
    const double variance = squares / n - Mean() * Mean();
    return n > 1 && variance > 0 ? std::exp(Mean()) * std::sqrt(variance / (n - 1)) : 0;
  }
};

// -log softmax(row)[id], in double precision.
double NegativeLogLikelihood(std::span<const float> row, int32_t id) {
  const float most = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (const float logit : row) sum += std::exp(double{logit} - most);
  return std::log(sum) + most - row[id];
}

class Scorer {
 public:
  Scorer(Runnable& runnable, int64_t context) : runnable_(runnable), context_(context) {}

  // window [context]; tokens from first_scored on are scored (each by the logits before it).
  absl::Status AddWindow(std::span<const int32_t> window, int64_t first_scored, Score& score) {
    ASSIGN_OR_RETURN(const auto sequence, runnable_.device->cache().NewSequence({}));
    RETURN_IF_ERROR(Run(*sequence, window.first(first_scored - 1), forward::Rows::kNone).status());
    for (int64_t begin = first_scored - 1; begin + 1 < context_; begin += kResultRows) {
      const auto chunk = window.subspan(begin, std::min(kResultRows, context_ - 1 - begin));
      ASSIGN_OR_RETURN(forward::ForwardResult result, Run(*sequence, chunk, forward::Rows::kAll));
      for (int64_t row = 0; row < result.rows(); ++row) {
        ASSIGN_OR_RETURN(const std::span<const float> logits, result.Row(row));
        const double loss = NegativeLogLikelihood(logits, window[begin + row + 1]);
        score.sum += loss;
        score.squares += loss * loss;
        ++score.tokens;
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<forward::ForwardResult> Run(cache::Sequence& sequence, std::span<const int32_t> tokens,
                                             forward::Rows wanted) {
    RETURN_IF_ERROR(runnable_.device->cache().Reserve(sequence, static_cast<int64_t>(tokens.size())));
    const forward::SequenceStep step = {&sequence, tokens, wanted};
    return forward::Forward(*runnable_.device, {&step, 1});
  }

  Runnable& runnable_;
  const int64_t context_;
};

absl::StatusOr<Score> ScoreText(Runnable& runnable, const tokenizer::Tokenizer& tokenizer, std::vector<int32_t> tokens,
                                const Options& options) {
  const auto count = static_cast<int64_t>(tokens.size());
  if (count < options.context) {
    return InvalidArgument("{}: has {} tokens, expected at least the context ({})", options.text_file, count,
                           options.context);
  }
  const int64_t stride = options.stride == 0 ? options.context : options.stride;
  // Without overlap the second half; with it, what the window before did not reach.
  const int64_t first_scored =
      stride >= options.context ? options.context / 2 + 1 : std::max<int64_t>(1, options.context - stride);
  Progress progress("perplexity", (count - options.context) / stride + 1);
  Scorer scorer(runnable, options.context);
  Score score;
  for (int64_t begin = 0; begin + options.context <= count; begin += stride) {
    std::vector<int32_t> window(tokens.begin() + begin, tokens.begin() + begin + options.context);
    if (tokenizer.adds_bos() && tokenizer.bos()) window[0] = *tokenizer.bos();
    RETURN_IF_ERROR(scorer.AddWindow(window, first_scored, score));
    progress.Advance(1);
  }
  return score;
}

absl::Status Perplexity(const Options& options) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(options.text_file));
  ASSIGN_OR_RETURN(Runnable runnable, OpenRunnable(options.path, {.threads = options.threads,
                                                                  .tokens = options.context,
                                                                  .sequences = 1,
                                                                  .batch_tokens = options.context,
                                                                  .result_rows = kResultRows,
                                                                  .cache_type = kernels::CacheType::kF32}));
  ASSIGN_OR_RETURN(const auto tokenizer, tokenizer::Tokenizer::Create(runnable.model->file()));
  ASSIGN_OR_RETURN(std::vector<int32_t> tokens, tokenizer->Encode(text, {.add_special = true, .parse_special = false}));
  ASSIGN_OR_RETURN(const Score score, ScoreText(runnable, *tokenizer, std::move(tokens), options));
  const double perplexity = std::exp(score.Mean());
  if (options.as_json) {
    Print("{}\n", boost::json::serialize(boost::json::object{{"perplexity", perplexity},
                                                             {"standard_error", score.Error()},
                                                             {"tokens_scored", score.tokens},
                                                             {"context", options.context}}));
  } else {
    Print("perplexity {:.4f} +- {:.4f} over {} tokens, context {}\n", perplexity, score.Error(), score.tokens,
          options.context);
  }
  return absl::OkStatus();
}

}  // namespace

void AddPerplexity(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = program.add_subcommand("perplexity", "Measures how well a model predicts a text.");
  verb->add_option("FILE", options->path, "model file (GGUF)")->required();
  verb->add_option("--text-file", options->text_file, "the text (-: standard input)")->required();
  verb->add_option("--context", options->context, "tokens of a window")
      ->check(CLI::Range(4, 1 << 24))
      ->capture_default_str();
  verb->add_option("--stride", options->stride, "tokens from a window to the next (0: the context, no overlap)")
      ->check(CLI::Range(0, 1 << 24))
      ->capture_default_str();
  AddThreads(*verb, options->threads);
  verb->add_flag("--json", options->as_json, "print JSON");
  verb->callback([options, &action] { action = [options] { return Perplexity(*options); }; });
}

}  // namespace inferd::tools
