// inferd-model run FILE: one prompt through the same engine that a worker has, streamed to the terminal.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "config/base/clock.h"
#include "config/base/local_time.h"
#include "config/base/print.h"
#include "config/base/status.h"
#include "engine/engine.h"
#include "engine/model_variables.h"
#include "engine/rendered_segments.h"
#include "engine/template/chat_template.h"
#include "engine/tokenizer/tokenizer.h"
#include "engine/tools/runnable.h"
#include "engine/tools/verbs.h"

namespace inferd::tools {
namespace {

namespace json = boost::json;
using tokenizer::Tokenizer;

constexpr size_t kQueueBytes = 16 << 20;

struct Options {
  std::string path;
  std::string prompt, system;
  bool raw = false;
  int64_t context = 4096;
  uint32_t max_tokens = 256;
  float temperature = 0;
  uint64_t seed = 0;
  int32_t threads = 0;
  bool as_json = false;
};

json::string_view View(std::string_view text) { return {text.data(), text.size()}; }

json::object Message(std::string_view role, const std::string& content) {
  return {{"role", View(role)}, {"content", content}};
}

// The prompt as the only user message of a chat, by the file's own template.
absl::StatusOr<std::vector<int32_t>> ChatTokens(const Options& options, const gguf::GgufFile& file,
                                                const Tokenizer& tokenizer) {
  ASSIGN_OR_RETURN(const std::string_view source, file.GetString("tokenizer.chat_template"));
  ASSIGN_OR_RETURN(const auto chat, chat_template::ChatTemplate::Parse(source));
  json::array messages;
  if (!options.system.empty()) messages.push_back(Message("system", options.system));
  messages.push_back(Message("user", options.prompt));
  ASSIGN_OR_RETURN(const std::tm now, LocalTime(Clock::System().WallNow()));
  ASSIGN_OR_RETURN(chat_template::RenderedPrompt prompt,
                   chat->Render({{"messages", std::move(messages)}, {"add_generation_prompt", true}},
                                engine::ModelVariables(tokenizer), now));
  return tokenizer.EncodeSegments(engine::SegmentsOf(std::move(prompt)));
}

absl::StatusOr<std::vector<int32_t>> PromptTokens(const Options& options, const gguf::GgufFile& file,
                                                  const Tokenizer& tokenizer) {
  ASSIGN_OR_RETURN(const std::string_view source, file.GetStringOr("tokenizer.chat_template", ""));
  const bool chat = !options.raw && source.find_first_not_of(" \t\r\n") != source.npos;
  if (chat) return ChatTokens(options, file, tokenizer);
  return tokenizer.Encode(options.prompt, {.add_special = true, .parse_special = false});
}

// Reads a request's events until its end, on the caller's thread.
class Reader {
 public:
  Reader() : queue_(std::make_shared<engine::EventQueue>(kQueueBytes, [this] { Wake(); })) {}
  const std::shared_ptr<engine::EventQueue>& queue() const { return queue_; }

  // Calls on_text for each piece; returns the end of the only choice.
  absl::StatusOr<engine::Finished> ReadAll(const std::function<void(const std::string&)>& on_text) {
    engine::Finished finished;
    while (true) {
      while (const std::optional<engine::Event> event = queue_->Pop()) {
        if (const auto* delta = std::get_if<engine::Delta>(&*event)) {
          for (const output::OutputPart& part : delta->parts) on_text(part.text);
        } else if (const auto* end = std::get_if<engine::Finished>(&*event)) {
          finished = *end;
        }
      }
      if (const std::optional<absl::Status> end = queue_->End()) {
        RETURN_IF_ERROR(*end);
        return finished;
      }
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&changed_));
      changed_ = false;
    }
  }

 private:
  void Wake() {
    absl::MutexLock lock(&mutex_);
    changed_ = true;
  }

  absl::Mutex mutex_;
  bool changed_ ABSL_GUARDED_BY(mutex_) = false;
  const std::shared_ptr<engine::EventQueue> queue_;
};

std::string_view ReasonName(engine::FinishReason reason) {
  return reason == engine::FinishReason::kLength ? "length" : "stop";
}

void Report(const Options& options, const std::string& text, const engine::Finished& end) {
  const double decoded = end.usage.completion_tokens > 1 ? end.usage.completion_tokens - 1 : 0;
  const double decode_rate = end.timings.decode_seconds > 0 ? decoded / end.timings.decode_seconds : 0;
  if (options.as_json) {
    Print("{}\n", json::serialize(json::object{{"text", text},
                                               {"finish_reason", View(ReasonName(end.reason))},
                                               {"prompt_tokens", end.usage.prompt_tokens},
                                               {"completion_tokens", end.usage.completion_tokens},
                                               {"first_token_seconds", end.timings.first_token_seconds},
                                               {"decode_tokens_per_second", decode_rate}}));
    return;
  }
  PrintStderr("\n\n{} prompt tokens, first token after {:.0f} ms; {} tokens at {:.1f} tokens/s ({})\n",
              end.usage.prompt_tokens, end.timings.first_token_seconds * 1000, end.usage.completion_tokens, decode_rate,
              ReasonName(end.reason));
}

absl::Status Run(const Options& options) {
  ASSIGN_OR_RETURN(const auto file, gguf::GgufFile::Open(options.path));
  ASSIGN_OR_RETURN(const auto model, model::Model::Load(file));
  ASSIGN_OR_RETURN(const auto tokenizer, Tokenizer::Create(*file));
  ASSIGN_OR_RETURN(std::vector<int32_t> prompt, PromptTokens(options, *file, *tokenizer));
  const int64_t context = std::min(options.context, model->context_length());
  ASSIGN_OR_RETURN(Runnable runnable, MakeRunnable(model, {.threads = options.threads, .tokens = context}));
  ASSIGN_OR_RETURN(const auto engine, engine::Engine::Create(std::move(runnable.device),
                                                             engine::VocabularyOf(*tokenizer, model->vocabulary_size()),
                                                             {.max_sequences = 1, .queue = {}}));
  Reader reader;
  engine::GenerationRequest request;
  request.prompt = std::move(prompt);
  request.sampling.temperature = options.temperature;
  request.seed = options.seed;
  request.max_tokens = options.max_tokens;
  RETURN_IF_ERROR(engine->Submit(std::move(request), reader.queue()).status());
  std::string text;
  ASSIGN_OR_RETURN(const engine::Finished end, reader.ReadAll([&](const std::string& piece) {
    text += piece;
    if (options.as_json) return;
    Print("{}", Printable(piece));
    std::fflush(stdout);
  }));
  RETURN_IF_ERROR(end.error);
  Report(options, text, end);
  return absl::OkStatus();
}

}  // namespace

void AddRun(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = program.add_subcommand("run", "Answers one prompt, streamed, and tells how fast.");
  verb->add_option("FILE", options->path, "model file (GGUF)")->required();
  verb->add_option("--prompt", options->prompt, "the prompt; a chat message where the file has a template")->required();
  verb->add_option("--system", options->system, "system message before it");
  verb->add_flag("--raw", options->raw, "take the prompt as plain text, whatever template the file has");
  verb->add_option("--context", options->context, "tokens of prompt and answer")
      ->check(CLI::Range(64, 1 << 24))
      ->capture_default_str();
  verb->add_option("--max-tokens", options->max_tokens, "longest answer")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb->add_option("--temperature", options->temperature, "0 takes the likeliest token")
      ->check(CLI::Range(0.0, 2.0))
      ->capture_default_str();
  verb->add_option("--seed", options->seed, "of the random numbers")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  AddThreads(*verb, options->threads);
  verb->add_flag("--json", options->as_json, "print the answer and its timings as JSON");
  verb->callback([options, &action] { action = [options] { return Run(*options); }; });
}

}  // namespace inferd::tools
