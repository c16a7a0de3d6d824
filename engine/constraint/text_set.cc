#include "engine/constraint/text_set.h"

#include <algorithm>
#include <map>
#include <utility>

#include "config/base/status.h"
#include "engine/constraint/machine.h"

namespace inferd::constraint {
namespace {

constexpr int64_t kMostWork = 4'000'000;

absl::Status TooLarge() {
  return InvalidArgument("is too large to be combined: more than {} states", TextSet::kMostStates);
}

bool Continues(int byte) { return (byte & 0xC0) == 0x80; }

}  // namespace

// The other factor: states are numbers of its own, -1 is dead.
struct TextSet::Steps {
  int64_t first = 0;
  std::function<int64_t(int64_t state, unsigned char byte)> next;
  std::function<bool(int64_t state)> accepts;
  bool may_die = false;  // the product goes on where this factor is dead
};

absl::StatusOr<TextSet> TextSet::Of(const Grammar& grammar) {
  if (!grammar.too_large() && !Program::TakesAText(grammar)) return TextSet();
  ASSIGN_OR_RETURN(std::shared_ptr<const Program> program, Program::Create(grammar));
  Machine machine(std::move(program));
  machine.AllowWork(kMostWork);
  TextSet set;
  set.classes_ = static_cast<size_t>(machine.program().classes());
  for (int byte = 0; byte < 256; ++byte) {
    set.class_of_[static_cast<size_t>(byte)] =
        static_cast<uint8_t>(machine.program().ClassOf(static_cast<unsigned char>(byte)));
  }
  std::map<Machine::StateId, int32_t> ids = {{machine.start(), 0}};
  std::vector<Machine::StateId> states = {machine.start()};
  for (size_t at = 0; at < states.size(); ++at) {
    if (states.size() > kMostStates) return TooLarge();
    set.accepts_.push_back(machine.Accepts(states[at]));
    for (size_t symbol = 0; symbol < set.classes_; ++symbol) {
      const Machine::StateId next = machine.Next(states[at], static_cast<int32_t>(symbol));
      if (machine.exhausted()) return TooLarge();
      if (next == Machine::kDead) {
        set.next_.push_back(-1);
        continue;
      }
      const auto [found, is_new] = ids.try_emplace(next, static_cast<int32_t>(states.size()));
      if (is_new) states.push_back(next);
      set.next_.push_back(found->second);
    }
  }
  set.Trim();
  return set;
}

TextSet TextSet::Any() {
  Grammar grammar;
  grammar.set_root(grammar.AddRule("text"));
  grammar.Define(grammar.root(), grammar.Star(grammar.Chars(CharSet::Any())));
  return *Of(grammar);
}

absl::StatusOr<TextSet> TextSet::Of(const std::vector<std::string>& texts) {
  Grammar grammar;
  std::vector<ExprId> choices;
  for (const std::string& text : texts) choices.push_back(grammar.Literal(text));
  grammar.set_root(grammar.AddRule("texts"));
  grammar.Define(grammar.root(), grammar.Choice(std::move(choices)));
  return Of(grammar);
}

TextSet::Classes TextSet::Together(const Classes& a, const Classes& b) {
  std::map<std::pair<uint8_t, uint8_t>, uint8_t> ids;
  Classes both{};
  for (size_t byte = 0; byte < both.size(); ++byte) {
    both[byte] = ids.try_emplace({a[byte], b[byte]}, static_cast<uint8_t>(ids.size())).first->second;
  }
  return both;
}

absl::StatusOr<TextSet> TextSet::Product(const Classes& classes, const Steps& other) const {
  TextSet product;
  if (empty()) return product;
  product.class_of_ = classes;
  std::vector<unsigned char> bytes;  // one of each class
  for (size_t byte = 0; byte < 256; ++byte) {
    if (classes[byte] == bytes.size()) bytes.push_back(static_cast<unsigned char>(byte));
  }
  product.classes_ = bytes.size();
  using Pair = std::pair<int32_t, int64_t>;
  std::map<Pair, int32_t> ids = {{{0, other.first}, 0}};
  std::vector<Pair> states = {{0, other.first}};
  for (size_t at = 0; at < states.size(); ++at) {
    if (states.size() > kMostStates) return TooLarge();
    const auto [mine, theirs] = states[at];
    product.accepts_.push_back(accepts_[static_cast<size_t>(mine)] != 0 && other.accepts(theirs));
    for (unsigned char byte : bytes) {
      const int32_t next = Next(mine, byte);
      const int64_t beside = next < 0 || theirs < 0 ? -1 : other.next(theirs, byte);
      if (next < 0 || (beside < 0 && !other.may_die)) {
        product.next_.push_back(-1);
        continue;
      }
      const auto [found, is_new] = ids.try_emplace({next, beside}, static_cast<int32_t>(states.size()));
      if (is_new) states.push_back({next, beside});
      product.next_.push_back(found->second);
    }
  }
  product.Trim();
  return product;
}

absl::StatusOr<TextSet> TextSet::Intersect(const TextSet& other) const {
  if (other.empty()) return TextSet();
  return Product(
      Together(class_of_, other.class_of_),
      {.next = [&](int64_t state, unsigned char byte) { return other.Next(static_cast<int32_t>(state), byte); },
       .accepts = [&](int64_t state) { return other.accepts_[static_cast<size_t>(state)] != 0; }});
}

absl::StatusOr<TextSet> TextSet::Minus(const TextSet& other) const {
  if (other.empty()) return *this;
  return Product(
      Together(class_of_, other.class_of_),
      {.next = [&](int64_t state, unsigned char byte) { return other.Next(static_cast<int32_t>(state), byte); },
       .accepts = [&](int64_t state) { return state < 0 || other.accepts_[static_cast<size_t>(state)] == 0; },
       .may_die = true});
}

absl::StatusOr<TextSet> TextSet::WithLength(uint32_t least, uint32_t most) const {
  if (least == 0 && most == kUnbounded) return *this;
  Classes continues{};
  for (int byte = 0; byte < 256; ++byte) continues[static_cast<size_t>(byte)] = Continues(byte) ? 1 : 0;
  const Classes classes = Together(class_of_, continues);
  while (true) {
    const uint32_t last = most == kUnbounded ? least : most;  // lengths beyond are not told apart
    absl::StatusOr<TextSet> set = Product(classes, {.next = [&](int64_t length, unsigned char byte) -> int64_t {
                                                      if (Continues(byte)) return length;
                                                      if (length == last) return most == kUnbounded ? length : -1;
                                                      return length + 1;
                                                    },
                                                    .accepts = [&](int64_t length) { return length >= least; }});
    if (set.ok() || most == kUnbounded || most / 2 <= least) return set;
    most /= 2;
  }
}

absl::StatusOr<TextSet> TextSet::MultiplesOf(uint32_t divisor) const {
  Classes digits{};
  for (unsigned char digit = '0'; digit <= '9'; ++digit) digits[digit] = static_cast<uint8_t>(digit - '0' + 1);
  return Product(Together(class_of_, digits),
                 {.next = [&](int64_t rest, unsigned char byte) -> int64_t {
                    return byte >= '0' && byte <= '9' ? (rest * 10 + (byte - '0')) % divisor : rest;
                  },
                  .accepts = [](int64_t rest) { return rest == 0; }});
}

// Groups of states are split until those of a group lead to the same groups (Moore, "Gedanken-experiments on sequential
// machines", 1956).
TextSet TextSet::Minimal() const {
  std::vector<int32_t> group(accepts_.begin(), accepts_.end());
  for (size_t count = 0, last = 1; count != last;) {
    last = count;
    std::map<std::vector<int32_t>, int32_t> ids;
    std::vector<int32_t> split(group.size());
    for (size_t state = 0; state < group.size(); ++state) {
      std::vector<int32_t> key = {group[state]};
      for (size_t symbol = 0; symbol < classes_; ++symbol) {
        const int32_t next = next_[state * classes_ + symbol];
        key.push_back(next < 0 ? -1 : group[static_cast<size_t>(next)]);
      }
      split[state] = ids.try_emplace(std::move(key), static_cast<int32_t>(ids.size())).first->second;
    }
    group = std::move(split);
    count = ids.size();
  }
  TextSet minimal;
  minimal.class_of_ = class_of_;
  minimal.classes_ = classes_;
  for (size_t state = 0; state < group.size(); ++state) {
    if (static_cast<size_t>(group[state]) != minimal.accepts_.size()) continue;
    minimal.accepts_.push_back(accepts_[state]);
    for (size_t symbol = 0; symbol < classes_; ++symbol) {
      const int32_t next = next_[state * classes_ + symbol];
      minimal.next_.push_back(next < 0 ? -1 : group[static_cast<size_t>(next)]);
    }
  }
  return minimal;
}

bool TextSet::Has(std::string_view text) const {
  int32_t state = empty() ? -1 : 0;
  for (char byte : text) {
    if (state < 0) return false;
    state = Next(state, static_cast<unsigned char>(byte));
  }
  return state >= 0 && accepts_[static_cast<size_t>(state)] != 0;
}

void TextSet::Trim() {
  std::vector<std::vector<int32_t>> before(accepts_.size());
  std::vector<int32_t> work, ids(accepts_.size(), -1);
  for (size_t state = 0; state < accepts_.size(); ++state) {
    for (size_t symbol = 0; symbol < classes_; ++symbol) {
      const int32_t next = next_[state * classes_ + symbol];
      if (next >= 0) before[static_cast<size_t>(next)].push_back(static_cast<int32_t>(state));
    }
    if (accepts_[state] != 0) work.push_back(static_cast<int32_t>(state));
  }
  for (int32_t state : work) ids[static_cast<size_t>(state)] = 0;
  while (!work.empty()) {
    const int32_t state = work.back();
    work.pop_back();
    for (int32_t one : before[static_cast<size_t>(state)]) {
      if (std::exchange(ids[static_cast<size_t>(one)], 0) < 0) work.push_back(one);
    }
  }
  if (ids.empty() || ids[0] < 0) {
    *this = TextSet();
    return;
  }
  int32_t kept = 0;
  for (int32_t& id : ids) id = id < 0 ? -1 : kept++;
  TextSet trimmed;
  trimmed.class_of_ = class_of_;
  trimmed.classes_ = classes_;
  for (size_t state = 0; state < accepts_.size(); ++state) {
    if (ids[state] < 0) continue;
    trimmed.accepts_.push_back(accepts_[state]);
    for (size_t symbol = 0; symbol < classes_; ++symbol) {
      const int32_t next = next_[state * classes_ + symbol];
      trimmed.next_.push_back(next < 0 ? -1 : ids[static_cast<size_t>(next)]);
    }
  }
  *this = std::move(trimmed);
}

// A rule for each state; each ends with a call, so that no stack grows.
ExprId TextSet::Write(Grammar& grammar, const std::function<ExprId(const ByteSet&)>& spell) const {
  if (empty()) return grammar.Nothing();
  std::vector<RuleId> rules;
  for (size_t state = 0; state < accepts_.size(); ++state) rules.push_back(grammar.AddRule("text"));
  for (size_t state = 0; state < accepts_.size() && !grammar.too_large(); ++state) {
    std::map<int32_t, ByteSet> leads;
    for (size_t byte = 0; byte < 256; ++byte) {
      const int32_t next = Next(static_cast<int32_t>(state), static_cast<unsigned char>(byte));
      if (next >= 0) leads[next].set(byte);
    }
    std::vector<ExprId> choices;
    if (accepts_[state] != 0) choices.push_back(grammar.Empty());
    for (const auto& [next, bytes] : leads) {
      choices.push_back(grammar.Sequence({spell(bytes), grammar.Call(rules[static_cast<size_t>(next)])}));
    }
    grammar.Define(rules[state], grammar.Choice(std::move(choices)));
  }
  if (grammar.too_large()) return grammar.Nothing();
  return grammar.Call(rules[0]);
}

}  // namespace inferd::constraint
