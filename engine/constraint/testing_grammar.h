// Whether a grammar takes a text, for tests.
//
//   TextJudge judge(grammar);
//   EXPECT_TRUE(judge.Takes("abc"));
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/constraint/machine.h"

namespace inferd::constraint {

class TextJudge {
 public:
  explicit TextJudge(const Grammar& grammar) {
    absl::StatusOr<std::shared_ptr<const Program>> program = Program::Create(grammar);
    error = std::string(program.status().message());
    if (program.ok()) machine_ = std::make_unique<Machine>(*std::move(program));
  }

  bool Takes(std::string_view text) {
    const Machine::StateId state = After(text);
    return machine_ != nullptr && machine_->Accepts(state);
  }
  // Some text begins so.
  bool TakesBeginning(std::string_view text) {
    const Machine::StateId state = After(text);
    return machine_ != nullptr && state != Machine::kDead;
  }
  Machine& machine() { return *machine_; }

  std::string error;  // of the program

 private:
  Machine::StateId After(std::string_view text) {
    if (machine_ == nullptr) return Machine::kDead;
    machine_->AllowWork(10'000'000);
    Machine::StateId state = machine_->start();
    for (char byte : text) state = machine_->Next(state, machine_->program().ClassOf(static_cast<unsigned char>(byte)));
    return state;
  }

  std::unique_ptr<Machine> machine_;
};

}  // namespace inferd::constraint
