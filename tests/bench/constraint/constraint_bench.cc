// Time that constraints take for each token of an answer, one sequence:
//   ninja constraint_bench && tests/bench/constraint/constraint_bench MODEL.gguf ...
// For each constraint a text that satisfies it is written twice: what is computed for the first is there for the
// second. A step is the mask and its application to the logits. Goals: 0.1 ms from the cache, a few ms at the first
// visit (measured with 151936 tokens: 0.05 ms from the cache; 0.2 ms of mean and 5 ms at most at the first visit of
// JSON, 3.4 ms of mean with the regular expression, each of whose words has states of its own).
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "config/base/status.h"
#include "engine/constraint/answer_constraint.h"
#include "engine/generation/vocabulary.h"
#include "engine/gguf/gguf_file.h"
#include "engine/tokenizer/tokenizer.h"
#include "tests/bench/thread_time.h"

namespace inferd::constraint {
namespace {

struct Case {
  const char* name;
  OutputKind kind;
  const char* source;
  const char* text;
};

constexpr char kPerson[] = R"({"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer",
  "minimum": 0, "maximum": 150}, "email": {"type": "string", "format": "email"}, "tags": {"type": "array",
  "items": {"type": "string", "enum": ["new", "old", "good"]}}, "address": {"type": "object", "properties": {
  "street": {"type": "string"}, "city": {"type": "string"}}, "required": ["street", "city"]}},
  "required": ["name", "age", "address"], "additionalProperties": false})";
constexpr char kPersonText[] = R"({"name": "Ada Lovelace of London", "age": 36, "email": "ada@example.org",
  "tags": ["new", "good"], "address": {"street": "12 St James's Square, behind the large tree", "city": "London"}})";
constexpr char kArithmetic[] =
    "root ::= expr\nexpr ::= term (\" \"? [-+*/] \" \"? term)*\nterm ::= [0-9]+ | \"(\" expr \")\"";

const Case kCases[] = {
    {"json object", OutputKind::kJsonObject, "", kPersonText},
    {"schema", OutputKind::kJsonSchema, kPerson, kPersonText},
    {"bounded string", OutputKind::kJsonSchema, R"({"type": "string", "maxLength": 400})",
     R"("The quick brown fox jumps over the lazy dog, and the dog takes no notice of it at all this time.")"},
    {"regex", OutputKind::kRegex, "[A-Z][a-z]+( [A-Za-z]+){3,40}\\.",
     "The quick brown fox jumps over the lazy dog again."},
    {"grammar", OutputKind::kGrammar, kArithmetic, "1 + (22 * (3 - 4)) / 5555 + (1 * (2 + (3)))"},
};

double Milliseconds() { return 1e3 * ThreadSeconds(); }

void Check(const absl::Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "{}\n", MessageOf(status));
  std::exit(1);
}

std::string Summary(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  double sum = 0;
  for (double time : times) sum += time;
  const auto count = static_cast<double>(times.size());
  return fmt::format("mean {:7.3f}  median {:7.3f}  largest {:7.3f}", sum / count, times[times.size() / 2],
                     times.back());
}

std::vector<double> Write(const Constraint& constraint, const std::vector<int32_t>& tokens,
                          std::vector<float>& logits) {
  Matcher matcher(constraint);
  std::vector<double> times;
  for (int32_t token : tokens) {
    const double begin = Milliseconds();
    const absl::StatusOr<Matcher::Allowed> allowed = matcher.Next();
    Check(allowed.status());
    allowed->tokens->Apply({}, logits);
    Check(matcher.Accept(token));
    times.push_back(Milliseconds() - begin);
  }
  return times;
}

void Run(const char* path) {
  const absl::StatusOr<std::shared_ptr<const gguf::GgufFile>> file = gguf::GgufFile::Open(path);
  Check(file.status());
  const absl::StatusOr<std::unique_ptr<tokenizer::Tokenizer>> tokenizer = tokenizer::Tokenizer::Create(**file);
  Check(tokenizer.status());
  const engine::Vocabulary vocabulary = engine::VocabularyOf(**tokenizer, (*tokenizer)->vocabulary_size());
  const auto texts = std::make_shared<const sampling::TokenTexts>(vocabulary.size, vocabulary.token_bytes);
  double begin = Milliseconds();
  ConstraintCache cache(texts, vocabulary.end_of_generation);
  fmt::print("{}: {} tokens, their tree in {:.1f} ms\n", path, vocabulary.size, Milliseconds() - begin);
  std::vector<float> logits(static_cast<size_t>(vocabulary.size));
  for (const Case& test : kCases) {
    begin = Milliseconds();
    const absl::StatusOr<Constraint> constraint = cache.Get(SourceOf({.kind = test.kind, .text = test.source}));
    Check(constraint.status());
    const double compiled = Milliseconds() - begin;
    const absl::StatusOr<std::vector<int32_t>> tokens = (*tokenizer)->Encode(test.text, {});
    Check(tokens.status());
    const std::string first = Summary(Write(*constraint, *tokens, logits)),
                      again = Summary(Write(*constraint, *tokens, logits));
    fmt::print("  {:15} {:3} tokens, made in {:6.2f} ms\n    first visit  {}\n    from cache   {}\n", test.name,
               tokens->size(), compiled, first, again);
  }
}

}  // namespace
}  // namespace inferd::constraint

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) inferd::constraint::Run(argv[i]);
  return argc > 1 ? 0 : 2;
}
