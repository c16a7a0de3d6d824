#include "engine/constraint/grammar.h"

#include <algorithm>
#include <utility>

namespace inferd::constraint {

ExprId Grammar::Add(Expr expr) {
  // Beyond the bound, all is one expression: who writes the grammar need not look at each step.
  if (exprs_.size() >= kMostExpressions) {
    too_large_ = true;
    return 0;
  }
  exprs_.push_back(std::move(expr));
  return static_cast<ExprId>(exprs_.size() - 1);
}

ExprId Grammar::Bytes(const ByteSet& set) {
  if (set.none()) return Nothing();
  const auto [found, is_new] = set_ids_.try_emplace(set.to_string(), static_cast<int32_t>(sets_.size()));
  if (is_new) {
    too_large_ |= sets_.size() >= kMostSets;
    if (sets_.size() < kMostSets) sets_.push_back(set);
  }
  return Add({.kind = Kind::kBytes, .what = std::min(found->second, static_cast<int32_t>(kMostSets) - 1)});
}

ExprId Grammar::Literal(std::string_view text) {
  std::vector<ExprId> parts;
  for (char byte : text) parts.push_back(Byte(static_cast<unsigned char>(byte)));
  return Sequence(std::move(parts));
}

ExprId Grammar::Chars(const CharSet& set) {
  std::vector<ExprId> choices;
  for (const ByteSequence& sequence : Utf8Of(set)) {
    std::vector<ExprId> parts;
    for (const ByteSet& bytes : sequence) parts.push_back(Bytes(bytes));
    choices.push_back(Sequence(std::move(parts)));
  }
  return Choice(std::move(choices));
}

ExprId Grammar::Marker(int32_t token) {
  const auto found = std::find(markers_.begin(), markers_.end(), token);
  const auto index = static_cast<int32_t>(found - markers_.begin());
  if (found == markers_.end()) markers_.push_back(token);
  return Add({.kind = Kind::kMarker, .what = index});
}

ExprId Grammar::Sequence(std::vector<ExprId> parts) {
  if (parts.empty()) return Empty();
  if (parts.size() == 1) return parts[0];
  return Add({.kind = Kind::kSequence, .parts = std::move(parts)});
}

ExprId Grammar::Choice(std::vector<ExprId> parts) {
  if (parts.empty()) return Nothing();
  if (parts.size() == 1) return parts[0];
  return Add({.kind = Kind::kChoice, .parts = std::move(parts)});
}

ExprId Grammar::Repeat(ExprId part, uint32_t least, uint32_t most) {
  if (most == 0) return Empty();
  if (least == 1 && most == 1) return part;
  return Add({.kind = Kind::kRepeat, .parts = {part}, .least = least, .most = most});
}

RuleId Grammar::AddRule(std::string name) {
  too_large_ |= rules_.size() >= kMostExpressions;
  if (rules_.size() < kMostExpressions) rules_.push_back({.name = std::move(name)});
  return static_cast<RuleId>(rules_.size() - 1);
}

ExprId Grammar::Named(std::string name, ExprId body) {
  const RuleId rule = AddRule(std::move(name));
  Define(rule, body);
  return Call(rule);
}

}  // namespace inferd::constraint
