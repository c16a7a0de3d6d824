// inferd-model tokenize FILE: a text as the model sees it, as ids and pieces.
#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <memory>
#include <string>
#include <vector>

#include "config/base/print.h"
#include "config/base/status.h"
#include "engine/gguf/gguf_file.h"
#include "engine/gguf/parse.h"
#include "engine/tokenizer/tokenizer.h"
#include "engine/tools/input.h"
#include "engine/tools/verbs.h"

namespace inferd::tools {
namespace {

using tokenizer::Tokenizer;

struct Options {
  std::string path;
  std::string text, text_file;
  bool no_special = false;
  bool as_json = false;
};

// A piece on one line: quotes around it, line ends and other control bytes escaped, broken UTF-8 as \xNN.
std::string Shown(const std::string& piece) {
  boost::system::error_code error;
  const std::string quoted = boost::json::serialize(boost::json::string(piece));
  boost::json::parse(quoted, error);
  return error ? fmt::format("\"{}\"", gguf::Printable(piece)) : quoted;
}

void PrintColoured(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  constexpr int kBackgrounds[] = {44, 42, 45, 46};
  for (size_t i = 0; i < ids.size(); ++i) {
    Print("\033[{};97m{}\033[0m", kBackgrounds[i % std::size(kBackgrounds)], tokenizer.TokenBytes(ids[i], true));
  }
  Print("\n\n");
}

void PrintText(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  if (isatty(STDOUT_FILENO)) PrintColoured(tokenizer, ids);
  for (const int32_t id : ids) Print("{:>8}  {}\n", id, Shown(tokenizer.TokenBytes(id, true)));
  PrintStderr("{} tokens\n", ids.size());
}

absl::Status Tokenize(const Options& options) {
  ASSIGN_OR_RETURN(const auto file, gguf::GgufFile::Open(options.path));
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, Tokenizer::Create(*file));
  std::string text = options.text;
  if (!options.text_file.empty()) {
    ASSIGN_OR_RETURN(text, ReadFile(options.text_file));
  }
  const bool special = !options.no_special;
  ASSIGN_OR_RETURN(const std::vector<int32_t> ids,
                   tokenizer->Encode(text, {.add_special = special, .parse_special = special}));
  if (options.as_json) {
    Print("{}\n", boost::json::serialize(boost::json::object{{"tokens", boost::json::array(ids.begin(), ids.end())}}));
  } else {
    PrintText(*tokenizer, ids);
  }
  return absl::OkStatus();
}

}  // namespace

void AddTokenize(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = program.add_subcommand("tokenize", "Shows the tokens of a text.");
  verb->add_option("FILE", options->path, "model file (GGUF)")->required();
  CLI::Option_group* input = verb->add_option_group("input", "exactly one of");
  input->add_option("--text", options->text, "the text");
  input->add_option("--text-file", options->text_file, "file with the text (-: standard input)");
  input->require_option(1);
  verb->add_flag("--no-special", options->no_special, "neither add BOS and EOS nor parse special tokens in the text");
  verb->add_flag("--json", options->as_json, "print {\"tokens\": [...]}");
  verb->callback([options, &action] { action = [options] { return Tokenize(*options); }; });
}

}  // namespace inferd::tools
