// See the header. A step moves the positions that take the symbol, and closes over what follows without one (Closure).
#include "engine/constraint/machine.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace inferd::constraint {
namespace {

// Positions of the frames at the bottom of all stacks.
constexpr int32_t kEndPosition = -1, kBottomPosition = -2;
constexpr size_t kMostBytes = 192 << 20;  // beyond, it counts as exhausted

}  // namespace

// All positions that are reached without a symbol. What follows a symbol may return; a rule that begins here may not,
// because a rule that can be empty is passed by at its call. So rules begin in the order of their ranks, each once,
// with all of its callers known.
class Closure {
 public:
  explicit Closure(Machine& machine) : machine_(machine), program_(*machine.program_) {}

  void Begin(int32_t rule, Machine::SetId returns) {
    const auto [found, is_new] = begun_.try_emplace(program_.rule(rule).rank, returns);
    if (!is_new) found->second = machine_.Union(found->second, returns);
  }
  void Add(int32_t position, Machine::SetId returns) { work_.push_back({position, returns}); }

  // After the rule with these returns.
  void Return(Machine::SetId returns) {
    const std::vector<int32_t> frames = machine_.sets_[static_cast<size_t>(returns)].frames;
    for (int32_t id : frames) {
      const Machine::Frame frame = machine_.frames_[static_cast<size_t>(id)];
      if (frame.position == kEndPosition) {
        state_.accepts = true;
      } else if (frame.position == kBottomPosition) {
        state_.leaves = true;
      } else {
        ReturnTo(frame);
      }
    }
  }

  Machine::State Run(bool accepts) {
    state_.accepts |= accepts;
    while (!work_.empty()) {
      const Machine::Top item = work_.back();
      work_.pop_back();
      if (--machine_.work_left_ < 0) return {};
      if (seen_.insert({item.position, item.returns}).second) Visit(item, /*fresh=*/false);
    }
    while (!begun_.empty()) {
      const auto [rank, returns] = *begun_.begin();
      begun_.erase(begun_.begin());
      work_.push_back({program_.rule(program_.ranked()[static_cast<size_t>(rank)]).start, returns});
      std::set<int32_t> seen;
      while (!work_.empty()) {
        const Machine::Top item = work_.back();
        work_.pop_back();
        if (--machine_.work_left_ < 0) return {};
        if (seen.insert(item.position).second) Visit(item, /*fresh=*/true);
      }
    }
    for (const auto& [position, returns] : tops_) state_.tops.push_back({position, returns});
    return std::move(state_);
  }

 private:
  // `fresh`: of a rule that has taken no symbol yet.
  void Visit(const Machine::Top& item, bool fresh) {
    const Position& position = program_.positions()[static_cast<size_t>(item.position)];
    switch (position.kind) {
      case Position::Kind::kTake: {
        const auto [found, is_new] = tops_.try_emplace(item.position, item.returns);
        if (!is_new) found->second = machine_.Union(found->second, item.returns);
        return;
      }
      case Position::Kind::kSplit:
        work_.push_back({position.arg, item.returns});
        work_.push_back({position.next, item.returns});
        return;
      case Position::Kind::kCall:
        if (position.tail) {
          Begin(position.arg, item.returns);
        } else {
          Call(position.arg, {.position = item.position, .need = 0, .room = 0, .below = item.returns});
        }
        if (program_.rule(position.arg).nullable) work_.push_back({position.next, item.returns});
        return;
      case Position::Kind::kRepeat:
        Call(position.arg, {.position = item.position,
                            .need = position.least > 0 ? position.least - 1 : 0,
                            .room = position.most == kUnbounded ? kUnbounded : position.most - 1,
                            .below = item.returns});
        if (position.least == 0) work_.push_back({position.next, item.returns});
        return;
      case Position::Kind::kReturn:
        if (!fresh) Return(item.returns);
        return;
      case Position::Kind::kFail:
        return;
    }
  }

  void Call(int32_t rule, const Machine::Frame& frame) {
    if (machine_.sets_[static_cast<size_t>(frame.below)].depth >= Machine::kDeepest) return;
    Begin(rule, machine_.SetOf({machine_.FrameOf(frame)}));
  }

  void ReturnTo(const Machine::Frame& frame) {
    const Position& position = program_.positions()[static_cast<size_t>(frame.position)];
    if (position.kind == Position::Kind::kRepeat && frame.room > 0) {
      Call(position.arg, {.position = frame.position,
                          .need = frame.need > 0 ? frame.need - 1 : 0,
                          .room = frame.room == kUnbounded ? kUnbounded : frame.room - 1,
                          .below = frame.below});
    }
    if (frame.need == 0) work_.push_back({position.next, frame.below});
  }

  Machine& machine_;
  const Program& program_;
  std::vector<Machine::Top> work_;
  std::set<std::pair<int32_t, Machine::SetId>> seen_;
  std::map<int32_t, Machine::SetId> begun_;  // rank of a rule: its returns
  std::map<int32_t, Machine::SetId> tops_;
  Machine::State state_;
};

Machine::Machine(std::shared_ptr<const Program> program)
    : program_(std::move(program)), classes_(static_cast<size_t>(program_->classes())) {
  StateOf({});  // kDead
  std::fill(next_.begin(), next_.end(), kDead);
  const SetId nothing = SetOf({});
  end_ = SetOf({FrameOf({.position = kEndPosition, .need = 0, .room = 0, .below = nothing})});
  bottom_ = SetOf({FrameOf({.position = kBottomPosition, .need = 0, .room = 0, .below = nothing})});
  Closure closure(*this);
  closure.Begin(program_->root(), end_);
  start_ = StateOf(closure.Run(program_->rule(program_->root()).nullable));
}

Machine::StateId Machine::Step(StateId state, int32_t symbol_class) {
  if (exhausted()) return kDead;
  Closure closure(*this);
  for (const Top& top : states_[static_cast<size_t>(state)].tops) {
    const Position& position = program_->positions()[static_cast<size_t>(top.position)];
    if (program_->SetHas(position.arg, symbol_class)) closure.Add(position.next, top.returns);
  }
  State next = closure.Run(/*accepts=*/false);
  if (exhausted()) return kDead;
  const StateId id = StateOf(std::move(next));
  next_[static_cast<size_t>(state) * classes_ + static_cast<size_t>(symbol_class)] = id;
  return id;
}

std::vector<Machine::Part> Machine::PartsOf(StateId state) {
  std::map<SetId, State> parts;
  for (const Top& top : states_[static_cast<size_t>(state)].tops) {
    parts[top.returns].tops.push_back({top.position, bottom_});
  }
  std::vector<Part> result;
  for (auto& [returns, part] : parts) result.push_back({.local = StateOf(std::move(part)), .returns = returns});
  return result;
}

Machine::StateId Machine::After(SetId returns) {
  const auto found = after_.find(returns);
  if (found != after_.end()) return found->second;
  if (exhausted()) return kDead;
  Closure closure(*this);
  closure.Return(returns);
  State next = closure.Run(/*accepts=*/false);
  if (exhausted()) return kDead;
  return after_[returns] = StateOf(std::move(next));
}

Machine::StateId Machine::Clamped(StateId state, uint32_t symbols) {
  State clamped = states_[static_cast<size_t>(state)];
  for (Top& top : clamped.tops) top.returns = ClampedSet(top.returns, symbols);
  return StateOf(std::move(clamped));
}

Machine::SetId Machine::ClampedSet(SetId set, uint32_t symbols) {
  const auto found = clamped_.find(set);
  if (found != clamped_.end()) return found->second;
  SetId result = SetOf({});
  const std::vector<int32_t> frames = sets_[static_cast<size_t>(set)].frames;
  for (int32_t id : frames) {
    Frame frame = frames_[static_cast<size_t>(id)];
    frame.need = std::min(frame.need, symbols + 1);
    if (frame.room != kUnbounded) frame.room = std::min(frame.room, symbols + 1);
    if (frame.position >= 0) frame.below = ClampedSet(frame.below, symbols);
    result = Union(result, SetOf({FrameOf(frame)}));
  }
  return clamped_[set] = result;
}

int32_t Machine::FrameOf(const Frame& frame) {
  const auto [found, is_new] = frame_ids_.try_emplace(frame, static_cast<int32_t>(frames_.size()));
  if (is_new) {
    frames_.push_back(frame);
    held_bytes_ += 3 * sizeof(Frame);
  }
  return found->second;
}

Machine::SetId Machine::SetOf(std::vector<int32_t> frames) {
  const auto [found, is_new] = set_ids_.try_emplace(frames, static_cast<SetId>(sets_.size()));
  if (!is_new) return found->second;
  held_bytes_ += 2 * sizeof(int32_t) * frames.size() + 96;
  FrameSet set{.frames = std::move(frames)};
  for (int32_t id : set.frames) {
    const Frame& frame = frames_[static_cast<size_t>(id)];
    if (frame.position >= 0) set.depth = std::max(set.depth, 1 + sets_[static_cast<size_t>(frame.below)].depth);
  }
  sets_.push_back(std::move(set));
  return static_cast<SetId>(sets_.size() - 1);
}

// Frames that return to the same place become one, with the union of what is below them.
Machine::SetId Machine::Union(SetId a, SetId b) {
  if (a == b) return a;
  const std::vector<int32_t> left = sets_[static_cast<size_t>(a)].frames, right = sets_[static_cast<size_t>(b)].frames;
  work_left_ -= static_cast<int64_t>(left.size() + right.size());
  std::vector<int32_t> merged;
  size_t i = 0, j = 0;
  while (i < left.size() || j < right.size()) {
    if (i == left.size() || j == right.size()) {
      merged.push_back(i < left.size() ? left[i++] : right[j++]);
      continue;
    }
    const Frame x = frames_[static_cast<size_t>(left[i])], y = frames_[static_cast<size_t>(right[j])];
    if (x.SamePlace(y)) {
      Frame both = x;
      both.below = Union(x.below, y.below);
      merged.push_back(FrameOf(both));
      ++i;
      ++j;
    } else {
      merged.push_back(x.Before(y) ? left[i++] : right[j++]);
    }
  }
  return SetOf(std::move(merged));
}

Machine::StateId Machine::StateOf(State state) {
  std::vector<int32_t> key = {state.accepts ? 1 : 0, state.leaves ? 1 : 0};
  for (const Top& top : state.tops) key.insert(key.end(), {top.position, top.returns});
  const auto [found, is_new] = state_ids_.try_emplace(std::move(key), static_cast<StateId>(states_.size()));
  if (is_new) {
    held_bytes_ += classes_ * sizeof(StateId) + 4 * sizeof(int32_t) * state.tops.size() + 128;
    if (held_bytes_ > kMostBytes) work_left_ = -1;
    states_.push_back(std::move(state));
    next_.resize(next_.size() + classes_, -1);
  }
  return found->second;
}

size_t Machine::memory_bytes() const { return held_bytes_; }

}  // namespace inferd::constraint
