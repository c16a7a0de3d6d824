// Runs a Program over symbols, one step a byte. A state is all that the text so far may be: positions, each with the
// returns that are still to come. States are numbered, equal ones alike, and steps are remembered.
//
//   Machine machine(program);
//   Machine::StateId state = machine.start();
//   for (char byte : text) state = machine.Next(state, program->ClassOf(byte));
//   if (machine.Accepts(state)) ...
//
// Stacks of returns are shared: a Frame is one return and the set of what is below it, in which no two frames return to
// the same place (Tomita's graph-structured stack, "Efficient Parsing for Natural Language", 1985). So ambiguity costs
// no more states than places, and what can be deeper is never copied. Of one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/constraint/program.h"

namespace inferd::constraint {

class Machine {
 public:
  using StateId = int32_t;
  using SetId = int32_t;
  static constexpr StateId kDead = 0;
  // Rules within rules; a text that would go deeper is not accepted.
  static constexpr int32_t kDeepest = 256;

  // A position that takes a symbol, and what may come after its rule.
  struct Top {
    int32_t position;
    SetId returns;
    bool operator==(const Top&) const = default;
  };

  explicit Machine(std::shared_ptr<const Program> program);

  const Program& program() const { return *program_; }
  StateId start() const { return start_; }
  StateId Next(StateId state, int32_t symbol_class) {
    const StateId known = next_[static_cast<size_t>(state) * classes_ + static_cast<size_t>(symbol_class)];
    return known >= 0 ? known : Step(state, symbol_class);
  }
  bool Accepts(StateId state) const { return states_[static_cast<size_t>(state)].accepts; }
  // More symbols may come.
  bool GoesOn(StateId state) const { return !states_[static_cast<size_t>(state)].tops.empty(); }

  // The parts of a state that return to the same, each with a state that knows nothing of what comes after its return:
  // Leaves() says that it has returned.
  struct Part {
    StateId local;
    SetId returns;
  };
  std::vector<Part> PartsOf(StateId state);
  bool Leaves(StateId state) const { return states_[static_cast<size_t>(state)].leaves; }
  // After the rule that has these returns.
  StateId After(SetId returns);

  // The state in which counts of repetitions that cannot matter within `symbols` steps are cut to the same.
  StateId Clamped(StateId state, uint32_t symbols);

  // Work that may be done until `exhausted`; from then on all steps lead to kDead.
  void AllowWork(int64_t units) { work_left_ = units; }
  bool exhausted() const { return work_left_ < 0; }
  size_t memory_bytes() const;

 private:
  // `need` more repetitions must come after the one that returns here, `room` more may; both 0 for calls.
  struct Frame {
    int32_t position;
    uint32_t need, room;
    SetId below;
    bool operator==(const Frame&) const = default;
    template <typename H>
    friend H AbslHashValue(H hash, const Frame& frame) {
      return H::combine(std::move(hash), frame.position, frame.need, frame.room, frame.below);
    }
    bool SamePlace(const Frame& other) const {
      return position == other.position && need == other.need && room == other.room;
    }
    bool Before(const Frame& other) const {
      if (position != other.position) return position < other.position;
      return need != other.need ? need < other.need : room < other.room;
    }
  };
  struct State {
    std::vector<Top> tops;  // ascending by position
    bool accepts = false;
    bool leaves = false;
  };
  struct FrameSet {
    std::vector<int32_t> frames;  // ascending by place
    int32_t depth = 0;
  };
  friend class Closure;

  StateId Step(StateId state, int32_t symbol_class);
  int32_t FrameOf(const Frame& frame);
  SetId SetOf(std::vector<int32_t> frames);
  SetId Union(SetId a, SetId b);
  SetId ClampedSet(SetId set, uint32_t symbols);
  StateId StateOf(State state);

  const std::shared_ptr<const Program> program_;
  const size_t classes_;
  std::vector<Frame> frames_;
  std::vector<FrameSet> sets_;
  std::vector<State> states_;
  std::vector<StateId> next_;  // [states][classes]; -1: not known yet
  absl::flat_hash_map<Frame, int32_t> frame_ids_;
  absl::flat_hash_map<std::vector<int32_t>, SetId> set_ids_;
  absl::flat_hash_map<std::vector<int32_t>, StateId> state_ids_;
  absl::flat_hash_map<SetId, StateId> after_;
  absl::flat_hash_map<SetId, SetId> clamped_;
  SetId end_ = 0, bottom_ = 0;  // of the root's return, and of one that is not known
  StateId start_ = kDead;
  size_t held_bytes_ = 0;
  int64_t work_left_ = 1 << 20;
};

}  // namespace inferd::constraint
