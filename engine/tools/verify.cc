// inferd-model verify FILE: every check that a worker makes before it serves a file, one line each.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/base/print.h"
#include "config/base/status.h"
#include "engine/conversation/abilities.h"
#include "engine/gguf/gguf_file.h"
#include "engine/model_variables.h"
#include "engine/self_test.h"
#include "engine/template/chat_template.h"
#include "engine/tokenizer/tokenizer.h"
#include "engine/tools/runnable.h"
#include "engine/tools/verbs.h"

namespace inferd::tools {
namespace {

namespace json = boost::json;

struct Options {
  std::string path;
  bool as_json = false;
};

struct Check {
  std::string name;
  absl::Status status;
  std::string detail;
};

// The checks in order; the first that fails ends them, since the later ones need what it made.
class Verifier {
 public:
  explicit Verifier(const std::string& path) : path_(path) {}

  std::vector<Check> Run() {
    Step("file", [this] { return OpenFile(); });
    Step("model", [this] { return LoadModel(); });
    Step("tokenizer", [this] { return MakeTokenizer(); });
    Step("template", [this] { return ParseTemplate(); });
    Step("forward", [this] { return RunForward(); });
    return std::move(checks_);
  }

  // Of what changes no result.
  std::vector<std::string> Warnings() const {
    std::vector<std::string> all;
    if (model_ != nullptr) all = model_->warnings();
    if (tokenizer_ != nullptr) all.insert(all.end(), tokenizer_->warnings().begin(), tokenizer_->warnings().end());
    return all;
  }

 private:
  void Step(const char* name, const std::function<absl::StatusOr<std::string>()>& check) {
    if (!checks_.empty() && !checks_.back().status.ok()) return;
    const absl::StatusOr<std::string> detail = check();
    checks_.push_back({name, detail.status(), detail.ok() ? *detail : std::string(MessageOf(detail.status()))});
  }

  absl::Status Named(const absl::Status& status) const { return Annotate(status, path_); }

  absl::StatusOr<std::string> OpenFile() {
    ASSIGN_OR_RETURN(file_, gguf::GgufFile::Open(path_));
    return fmt::format("GGUF version {}, {} metadata entries, {} tensors, {} bytes", file_->version(),
                       file_->entries().size(), file_->tensors().size(), file_->size_bytes());
  }

  absl::StatusOr<std::string> LoadModel() {
    ASSIGN_OR_RETURN(model_, model::Model::Load(file_));
    return fmt::format("{}, {} parameters", model_->description(), model_->parameter_count());
  }

  absl::StatusOr<std::string> MakeTokenizer() {
    if (file_->Find("tokenizer.ggml.model") == nullptr) return "none in the file: it takes token ids alone";
    ASSIGN_OR_RETURN(tokenizer_, tokenizer::Tokenizer::Create(*file_));
    RETURN_IF_ERROR(Named(engine::CheckTokenizer(*tokenizer_, model_->vocabulary_size())));
    return fmt::format("{} tokens", tokenizer_->vocabulary_size());
  }

  absl::StatusOr<std::string> ParseTemplate() {
    ASSIGN_OR_RETURN(const std::string_view source, file_->GetStringOr("tokenizer.chat_template", ""));
    if (source.find_first_not_of(" \t\r\n") == source.npos) return "none in the file: it takes plain text alone";
    const auto parsed = chat_template::ChatTemplate::Parse(source);
    if (!parsed.ok()) return Named(Annotate(parsed.status(), "tokenizer.chat_template"));
    const json::object variables = tokenizer_ != nullptr ? engine::ModelVariables(*tokenizer_) : json::object();
    RETURN_IF_ERROR(Named(conversation::ProbeAbilities(**parsed, variables).status()));
    return fmt::format("{} bytes", source.size());
  }

  // A few tokens through all layers.
  absl::StatusOr<std::string> RunForward() {
    ASSIGN_OR_RETURN(Runnable runnable, MakeRunnable(model_, {.tokens = 8, .result_rows = 8}));
    RETURN_IF_ERROR(Named(engine::CheckForward(*runnable.device).status()));
    return fmt::format("all results finite ({})", runnable.device->description());
  }

  const std::string& path_;
  std::vector<Check> checks_;
  std::shared_ptr<const gguf::GgufFile> file_;
  std::shared_ptr<const model::Model> model_;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
};

absl::Status Verify(const Options& options) {
  Verifier verifier(options.path);
  const std::vector<Check> checks = verifier.Run();
  const std::vector<std::string> warnings = verifier.Warnings();
  const bool ok = checks.back().status.ok();
  if (options.as_json) {
    json::array out;
    for (const Check& check : checks) {
      out.push_back({{"check", check.name}, {"ok", check.status.ok()}, {"detail", Printable(check.detail)}});
    }
    json::array said;
    for (const std::string& warning : warnings) said.emplace_back(Printable(warning));
    Print(
        "{}\n",
        json::serialize(json::object{
            {"path", Printable(options.path)}, {"ok", ok}, {"checks", std::move(out)}, {"warnings", std::move(said)}}));
  } else {
    for (const Check& check : checks) {
      Print("{:<6} {:<10} {}\n", check.status.ok() ? "ok" : "FAILED", check.name, Printable(check.detail));
    }
    for (const std::string& warning : warnings) Print("{:<6} {}\n", "warn", Printable(warning));
  }
  if (ok) return absl::OkStatus();
  return FailedPrecondition("{}: {} failed", options.path, checks.back().name);
}

}  // namespace

void AddVerify(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = program.add_subcommand("verify", "Makes every check that a worker makes before it serves a file.");
  verb->add_option("FILE", options->path, "model file (GGUF)")->required();
  verb->add_flag("--json", options->as_json, "print JSON");
  verb->callback([options, &action] { action = [options] { return Verify(*options); }; });
}

}  // namespace inferd::tools
