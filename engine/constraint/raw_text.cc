// The product of two automata: the machine of the JSON texts, fed with the spelling of each byte, and the search for
// the mark (Knuth, Morris and Pratt, "Fast pattern matching in strings", 1977). A state becomes a rule.
#include "engine/constraint/raw_text.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/constraint/machine.h"

namespace inferd::constraint {
namespace {

constexpr size_t kMostStates = 6000;
constexpr int64_t kMostWork = 1 << 23;

class RawTextWriter {
 public:
  RawTextWriter(std::shared_ptr<const Program> json, std::string_view mark, Grammar& grammar)
      : machine_(std::move(json)), mark_(mark), grammar_(grammar) {
    machine_.AllowWork(kMostWork);
    for (size_t length = 0; length < mark.size(); ++length) {
      for (size_t byte = 0; byte < 256; ++byte) {
        const std::string text = std::string(mark.substr(0, length)) + static_cast<char>(byte);
        size_t next = text.size();
        while (next > 0 && !text.ends_with(mark.substr(0, next))) --next;
        next_in_mark_.push_back(next);
      }
    }
  }

  std::optional<ExprId> Write() {
    const Machine::StateId first = After(machine_.start(), "\"");
    std::vector<ExprId> choices;
    if (machine_.Accepts(After(machine_.start(), "null"))) choices.push_back(grammar_.Literal("null"));
    if (first != Machine::kDead) choices.push_back(grammar_.Call(RuleOf({first, 0})));
    for (size_t i = 0; i < states_.size(); ++i) {
      if (states_.size() > kMostStates || machine_.exhausted() || grammar_.too_large()) return std::nullopt;
      WriteState(states_[i]);
    }
    if (machine_.exhausted()) return std::nullopt;
    return grammar_.Choice(std::move(choices));
  }

 private:
  struct State {
    Machine::StateId json;
    size_t in_mark;  // bytes of the mark that the text ends with
    auto operator<=>(const State&) const = default;
  };

  Machine::StateId After(Machine::StateId state, std::string_view text) {
    for (const char byte : text) {
      if (state == Machine::kDead) break;
      state = machine_.Next(state, machine_.program().ClassOf(static_cast<unsigned char>(byte)));
    }
    return state;
  }

  // Behind a byte of the string, spelled as JSON.
  Machine::StateId AfterByte(Machine::StateId state, unsigned char byte) {
    constexpr std::pair<char, std::string_view> kEscapes[] = {
        {'"', "\\\""}, {'\\', "\\\\"}, {'\n', "\\n"}, {'\r', "\\r"}, {'\t', "\\t"}, {'\b', "\\b"}, {'\f', "\\f"}};
    if (byte >= 0x20 && byte != '"' && byte != '\\') {
      const char plain = static_cast<char>(byte);
      return After(state, {&plain, 1});
    }
    for (const auto& [escaped, spelling] : kEscapes) {
      if (static_cast<unsigned char>(escaped) != byte) continue;
      if (const Machine::StateId next = After(state, spelling); next != Machine::kDead) return next;
    }
    if (const Machine::StateId next = After(state, fmt::format("\\u{:04x}", byte)); next != Machine::kDead) return next;
    return After(state, fmt::format("\\u{:04X}", byte));
  }

  RuleId RuleOf(const State& state) {
    const auto [found, is_new] = rules_.try_emplace(state, -1);
    if (is_new) {
      found->second = grammar_.AddRule("raw text");
      states_.push_back(state);
      grammar_.Define(found->second, grammar_.Nothing());
    }
    return found->second;
  }

  void WriteState(const State state) {
    std::map<State, ByteSet> leads;
    for (size_t byte = 0; byte < 256; ++byte) {
      const size_t in_mark = next_in_mark_[state.in_mark * 256 + byte];
      if (in_mark == mark_.size()) continue;
      const Machine::StateId json = AfterByte(state.json, static_cast<unsigned char>(byte));
      if (json != Machine::kDead) leads[{json, in_mark}].set(byte);
    }
    std::vector<ExprId> choices;
    if (machine_.Accepts(After(state.json, "\""))) choices.push_back(grammar_.Empty());
    for (const auto& [next, bytes] : leads) {
      choices.push_back(grammar_.Sequence({grammar_.Bytes(bytes), grammar_.Call(RuleOf(next))}));
    }
    grammar_.Define(rules_.at(state), grammar_.Choice(std::move(choices)));
  }

  Machine machine_;
  const std::string_view mark_;
  Grammar& grammar_;
  std::vector<size_t> next_in_mark_;  // [length][byte]
  std::map<State, RuleId> rules_;
  std::vector<State> states_;
};

}  // namespace

std::optional<ExprId> RawText(std::shared_ptr<const Program> json, std::string_view mark, Grammar& grammar) {
  return RawTextWriter(std::move(json), mark, grammar).Write();
}

}  // namespace inferd::constraint
