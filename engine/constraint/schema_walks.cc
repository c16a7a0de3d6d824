// For tests: what schemas make of texts, and random texts that they generate. Of each line of standard input, a JSON
// object, one line of output is made:
//
//   {"schema": {...}, "narrow": true, "walks": 100, "seed": 1, "texts": ["{}", "5"]}
//   {"error": "at #: ..."} or {"warnings": [...], "generated": [...], "unfinished": 0, "taken": [true, false]}
#include <boost/json.hpp>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "config/base/status.h"
#include "engine/constraint/json_grammar.h"
#include "engine/constraint/json_schema.h"
#include "engine/constraint/machine.h"

namespace inferd::constraint {
namespace {

namespace json = boost::json;

constexpr int kWork = 1 << 24;
constexpr size_t kSoon = 120, kLongest = 4000;  // bytes: from where a walk makes for its end, where it is given up

class Walker {
 public:
  Walker(std::shared_ptr<const Program> program, uint64_t seed) : machine_(std::move(program)), random_(seed) {
    bytes_.resize(static_cast<size_t>(machine_.program().classes()));
    for (int byte = 0; byte < 256; ++byte) {
      bytes_[static_cast<size_t>(machine_.program().ClassOf(static_cast<unsigned char>(byte)))].push_back(
          static_cast<char>(byte));
    }
  }

  bool Takes(std::string_view text) {
    machine_.AllowWork(kWork);
    Machine::StateId state = machine_.start();
    for (char byte : text) state = Next(state, byte);
    return machine_.Accepts(state);
  }

  // nullopt: it came to no end.
  std::optional<std::string> Walk() {
    machine_.AllowWork(kWork);
    std::string text;
    Machine::StateId state = machine_.start();
    while (text.size() < kLongest) {
      if (machine_.Accepts(state) && (!machine_.GoesOn(state) || Below(text.size() < kSoon ? 4 : 1) == 0)) return text;
      const std::optional<char> byte = Choose(state, text.size() >= kSoon);
      if (!byte) return std::nullopt;
      state = Next(state, *byte);
      text += *byte;
    }
    return std::nullopt;
  }

 private:
  size_t Below(size_t count) { return random_() % count; }
  Machine::StateId Next(Machine::StateId state, char byte) {
    return machine_.Next(state, machine_.program().ClassOf(static_cast<unsigned char>(byte)));
  }

  std::optional<char> Choose(Machine::StateId state, bool ends) {
    if (ends) {
      for (char byte : {'"', '}', ']'}) {
        if (Next(state, byte) != Machine::kDead && Below(8) != 0) return byte;
      }
    }
    std::vector<size_t> alive;
    for (size_t i = 0; i < bytes_.size(); ++i) {
      if (!bytes_[i].empty() && Next(state, bytes_[i][0]) != Machine::kDead) alive.push_back(i);
    }
    if (alive.empty()) return std::nullopt;
    const std::string& some = bytes_[alive[Below(alive.size())]];
    return some[Below(some.size())];
  }

  Machine machine_;
  std::mt19937_64 random_;
  std::vector<std::string> bytes_;  // of each class
};

absl::StatusOr<std::shared_ptr<const Program>> Compile(const json::value& schema, const SchemaOptions& options) {
  Grammar grammar;
  ASSIGN_OR_RETURN(const ExprId expr, ReadJsonSchema(schema, grammar, options));
  grammar.set_root(grammar.AddRule("root"));
  grammar.Define(grammar.root(), expr);
  return Program::Create(grammar);
}

json::object Answer(const json::object& task) {
  std::vector<SchemaWarning> warnings;
  const auto number = [&](const char* key) {
    const json::value* value = task.if_contains(key);
    return value != nullptr ? value->to_number<uint64_t>() : 0;
  };
  const json::value* narrow = task.if_contains("narrow");
  absl::StatusOr<std::shared_ptr<const Program>> program =
      Compile(task.at("schema"), {.narrow = narrow == nullptr || *narrow == true, .warnings = &warnings});
  if (!program.ok()) return {{"error", std::string(MessageOf(program.status()))}};
  Walker walker(*std::move(program), number("seed"));
  json::array generated, taken, said;
  uint64_t unfinished = 0;
  for (uint64_t i = 0; i < number("walks"); ++i) {
    const std::optional<std::string> text = walker.Walk();
    if (text) generated.emplace_back(*text);
    unfinished += text ? 0 : 1;
  }
  if (const json::value* texts = task.if_contains("texts")) {
    for (const json::value& text : texts->as_array()) taken.emplace_back(walker.Takes(View(text.as_string())));
  }
  for (const SchemaWarning& warning : warnings) said.emplace_back("at " + warning.place + ": " + warning.text);
  return {{"warnings", said}, {"generated", generated}, {"unfinished", unfinished}, {"taken", taken}};
}

}  // namespace
}  // namespace inferd::constraint

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    const boost::json::value task = boost::json::parse(line);
    std::puts(boost::json::serialize(inferd::constraint::Answer(task.as_object())).c_str());
    std::fflush(stdout);
  }
  return 0;
}
