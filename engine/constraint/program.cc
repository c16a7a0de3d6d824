// Expressions are written back to front: each knows where it goes on. What can never be completed is left out, so that
// no text leads into a dead end.
#include "engine/constraint/program.h"

#include <algorithm>
#include <map>
#include <utility>

#include "config/base/status.h"
#include "engine/constraint/grammar_facts.h"

namespace inferd::constraint {
namespace {

using Kind = Grammar::Kind;

constexpr uint32_t kMostCopied = 64;  // positions of a repetition that is written out
constexpr int kDeepest = 5000;

}  // namespace

class ProgramWriter {
 public:
  explicit ProgramWriter(const Grammar& grammar)
      : grammar_(grammar), facts_(FactsOf(grammar)), program_(new Program()) {
    for (const Grammar::Expr& expr : grammar.exprs()) costs_.push_back(CostOf(expr));
  }

  absl::StatusOr<std::shared_ptr<const Program>> Write() {
    MakeClasses();
    program_->root_ = grammar_.root();
    program_->marker_tokens_ = grammar_.markers();
    for (const Grammar::Rule& rule : grammar_.rules()) {
      const auto body = static_cast<size_t>(rule.body);
      program_->rules_.push_back({.nullable = facts_.nullable[body]});
      names_.push_back(rule.name);
    }
    for (size_t rule = 0; rule < grammar_.rules().size(); ++rule) {
      writing_ = static_cast<int32_t>(rule);
      const int32_t end = Emit({.kind = Position::Kind::kReturn});
      const int32_t start = Write(grammar_.rules()[rule].body, end);
      program_->rules_[rule].start = start;
    }
    RETURN_IF_ERROR(error_);
    MarkTailCalls();
    RETURN_IF_ERROR(Rank());
    return std::shared_ptr<const Program>(std::move(program_));
  }

 private:
  struct Depth {
    explicit Depth(int& depth) : depth(depth) { ++depth; }
    ~Depth() { --depth; }
    int& depth;
  };

  // Positions of the expression, or more than kMostCopied.
  uint32_t CostOf(const Grammar::Expr& expr) const {
    uint64_t cost = expr.kind == Kind::kChoice ? expr.parts.size() : expr.parts.empty() ? 1 : 0;
    for (ExprId part : expr.parts) cost += costs_[static_cast<size_t>(part)];
    if (expr.kind == Kind::kRepeat) cost *= Copies(expr);
    return static_cast<uint32_t>(std::min<uint64_t>(cost, 1 << 20));
  }
  static uint64_t Copies(const Grammar::Expr& expr) {
    return expr.most == kUnbounded ? std::max(expr.least, 1u) : expr.most;
  }

  // Each set splits the classes that it tells apart.
  void MakeClasses() {
    Program& program = *program_;
    program.classes_ = 1;
    for (const ByteSet& set : grammar_.sets()) {
      std::map<std::pair<int32_t, bool>, int32_t> split;
      for (size_t byte = 0; byte < 256; ++byte) split.try_emplace({program.class_of_[byte], set.test(byte)}, 0);
      if (static_cast<int32_t>(split.size()) == program.classes_) continue;
      int32_t next = 0;
      for (auto& [key, id] : split) id = next++;
      for (size_t byte = 0; byte < 256; ++byte)
        program.class_of_[byte] = split[{program.class_of_[byte], set.test(byte)}];
      program.classes_ = next;
    }
    program.first_marker_class_ = program.classes_;
    const size_t sets = grammar_.sets().size(), markers = grammar_.markers().size();
    program.classes_ += static_cast<int32_t>(markers);
    const auto classes = static_cast<size_t>(program.classes_);
    program.members_.resize((sets + markers) * classes);
    for (size_t set = 0; set < sets; ++set) {
      for (size_t byte = 0; byte < 256; ++byte) {
        if (grammar_.sets()[set].test(byte))
          program.members_[set * classes + static_cast<size_t>(program.class_of_[byte])] = 1;
      }
    }
    for (size_t marker = 0; marker < markers; ++marker) {
      program.members_[(sets + marker) * classes + static_cast<size_t>(program.MarkerClass(marker))] = 1;
    }
  }

  int32_t Emit(Position position) {
    if (program_->positions_.size() >= kMostPositions) {
      Fail(InvalidArgument("the grammar is too large: it has more than {} positions", kMostPositions));
      return 0;
    }
    program_->positions_.push_back(position);
    return static_cast<int32_t>(program_->positions_.size() - 1);
  }
  int32_t EmitSplit(int32_t a, int32_t b) { return Emit({.kind = Position::Kind::kSplit, .next = a, .arg = b}); }
  void Fail(absl::Status status) {
    if (error_.ok()) error_ = std::move(status);
  }

  bool Completable(ExprId id) const { return facts_.completable[static_cast<size_t>(id)]; }

  int32_t Write(ExprId id, int32_t next) {
    const Depth depth(depth_);
    if (depth_ > kDeepest) Fail(InvalidArgument("the grammar is nested too deeply"));
    if (!error_.ok()) return 0;
    if (!Completable(id)) return Emit({.kind = Position::Kind::kFail});
    const Grammar::Expr& expr = grammar_.exprs()[static_cast<size_t>(id)];
    switch (expr.kind) {
      case Kind::kEmpty:
      case Kind::kNothing:
        return next;
      case Kind::kBytes:
        return Emit({.kind = Position::Kind::kTake, .next = next, .arg = expr.what});
      case Kind::kMarker:
        return Emit({.kind = Position::Kind::kTake,
                     .next = next,
                     .arg = static_cast<int32_t>(grammar_.sets().size()) + expr.what});
      case Kind::kCall:
        return Emit({.kind = Position::Kind::kCall, .next = next, .arg = expr.what});
      case Kind::kSequence:
        for (auto part = expr.parts.rbegin(); part != expr.parts.rend(); ++part) next = Write(*part, next);
        return next;
      case Kind::kChoice:
        return WriteChoice(expr, next);
      case Kind::kRepeat:
        return WriteRepeat(expr, next);
    }
    return next;
  }

  int32_t WriteChoice(const Grammar::Expr& expr, int32_t next) {
    int32_t all = -1;
    for (auto part = expr.parts.rbegin(); part != expr.parts.rend(); ++part) {
      if (!Completable(*part)) continue;
      const int32_t one = Write(*part, next);
      all = all < 0 ? one : EmitSplit(one, all);
    }
    return all;
  }

  int32_t WriteRepeat(const Grammar::Expr& expr, int32_t next) {
    const ExprId part = expr.parts[0];
    if (!Completable(part)) return next;  // zero times, which the expression allows
    const bool nullable = facts_.nullable[static_cast<size_t>(part)];
    const uint32_t least = nullable ? 0 : expr.least;
    if (expr.most == kUnbounded && least <= 1) return WriteLoop(part, least, next);
    if (expr.most == 1) return EmitSplit(Write(part, next), next);
    if (Copies(expr) * costs_[static_cast<size_t>(part)] <= kMostCopied)
      return WriteCopies(part, least, expr.most, next);
    const int32_t rule = RuleFor(part, nullable);
    if (!nullable) {
      return Emit({.kind = Position::Kind::kRepeat, .next = next, .arg = rule, .least = least, .most = expr.most});
    }
    if (expr.most > kMostEmptyRepetitions) {
      Fail(InvalidArgument("{} repetitions of something that may be empty, expected at most {}", expr.most,
                           kMostEmptyRepetitions));
      return 0;
    }
    int32_t all = next;
    for (uint32_t i = 0; i < expr.most; ++i) {
      all = EmitSplit(Emit({.kind = Position::Kind::kCall, .next = all, .arg = rule}), next);
    }
    return all;
  }

  int32_t WriteLoop(ExprId part, uint32_t least, int32_t next) {
    const int32_t again = EmitSplit(-1, next);
    const int32_t body = Write(part, again);
    if (!error_.ok()) return 0;
    program_->positions_[static_cast<size_t>(again)].next = body;
    return least == 0 ? again : body;
  }

  int32_t WriteCopies(ExprId part, uint32_t least, uint32_t most, int32_t next) {
    int32_t all = next;
    if (most == kUnbounded) {
      all = WriteLoop(part, 1, next);
      --least;
    } else {
      for (uint32_t i = least; i < most; ++i) all = EmitSplit(Write(part, all), next);
    }
    for (uint32_t i = 0; i < least; ++i) all = Write(part, all);
    return all;
  }

  int32_t RuleFor(ExprId part, bool nullable) {
    const auto rule = static_cast<int32_t>(program_->rules_.size());
    program_->rules_.push_back({.nullable = nullable});
    names_.push_back(names_[static_cast<size_t>(writing_)]);
    const int32_t end = Emit({.kind = Position::Kind::kReturn});
    const int32_t start = Write(part, end);
    program_->rules_[static_cast<size_t>(rule)].start = start;
    return rule;
  }

  void MarkTailCalls() {
    for (Position& position : program_->positions_) {
      position.tail = position.kind == Position::Kind::kCall &&
                      program_->positions_[static_cast<size_t>(position.next)].kind == Position::Kind::kReturn;
    }
  }

  // The rules that texts of this one may begin with.
  std::vector<int32_t> LeftCalls(int32_t rule) {
    std::vector<int32_t> calls, stack = {program_->rule(rule).start};
    while (!stack.empty()) {
      const int32_t at = stack.back();
      stack.pop_back();
      if (seen_[static_cast<size_t>(at)] == rule) continue;
      seen_[static_cast<size_t>(at)] = rule;
      const Position& position = program_->positions_[static_cast<size_t>(at)];
      if (position.kind == Position::Kind::kSplit) stack.insert(stack.end(), {position.next, position.arg});
      if (position.kind != Position::Kind::kCall && position.kind != Position::Kind::kRepeat) continue;
      calls.push_back(position.arg);
      const bool is_repeat = position.kind == Position::Kind::kRepeat;
      if (is_repeat ? position.least == 0 : program_->rule(position.arg).nullable) stack.push_back(position.next);
    }
    return calls;
  }

  // Depth first; a rule that is met again before it is done begins with itself.
  absl::Status Rank() {
    struct Visit {
      int32_t rule;
      std::vector<int32_t> calls;
      size_t next = 0;
    };
    seen_.assign(program_->positions_.size(), -1);
    std::vector<uint8_t> state(program_->rules_.size());  // 1: being visited, 2: done
    std::vector<int32_t> done;
    for (size_t root = 0; root < state.size(); ++root) {
      if (state[root] != 0) continue;
      std::vector<Visit> visits;
      const auto begin = [&](int32_t rule) {
        state[static_cast<size_t>(rule)] = 1;
        visits.push_back({.rule = rule, .calls = LeftCalls(rule)});
      };
      begin(static_cast<int32_t>(root));
      while (!visits.empty()) {
        Visit& visit = visits.back();
        if (visit.next == visit.calls.size()) {
          state[static_cast<size_t>(visit.rule)] = 2;
          done.push_back(visit.rule);
          visits.pop_back();
          continue;
        }
        const int32_t called = visit.calls[visit.next++];
        if (state[static_cast<size_t>(called)] == 1) {
          return InvalidArgument("rule {} begins with itself, which is not supported: write it as a repetition",
                                 names_[static_cast<size_t>(called)]);
        }
        if (state[static_cast<size_t>(called)] == 0) begin(called);
      }
    }
    program_->ranked_.assign(done.rbegin(), done.rend());
    for (size_t rank = 0; rank < program_->ranked_.size(); ++rank) {
      program_->rules_[static_cast<size_t>(program_->ranked_[rank])].rank = static_cast<int32_t>(rank);
    }
    return absl::OkStatus();
  }

  const Grammar& grammar_;
  const GrammarFacts facts_;
  std::shared_ptr<Program> program_;
  std::vector<uint32_t> costs_;     // [exprs]
  std::vector<std::string> names_;  // [rules]
  std::vector<int32_t> seen_;       // [positions] the last rule whose beginnings were searched here
  int32_t writing_ = 0;
  int depth_ = 0;
  absl::Status error_;
};

bool Program::TakesAText(const Grammar& grammar) {
  const Grammar::Rule& root = grammar.rules()[static_cast<size_t>(grammar.root())];
  return FactsOf(grammar).completable[static_cast<size_t>(root.body)];
}

absl::StatusOr<std::shared_ptr<const Program>> Program::Create(const Grammar& grammar) {
  if (grammar.too_large()) {
    return InvalidArgument("the grammar is too large: it has more than {} parts", kMostExpressions);
  }
  if (!TakesAText(grammar)) {
    return InvalidArgument("no text is complete for rule {}: each needs itself or has no alternative",
                           grammar.rules()[static_cast<size_t>(grammar.root())].name);
  }
  return ProgramWriter(grammar).Write();
}

}  // namespace inferd::constraint
