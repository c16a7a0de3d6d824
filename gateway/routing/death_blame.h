// Deaths of workers under one request, and whether it is to blame for them.
//
//   if (blame.Add(end.begun)) poison.Add(request, caller);
#pragma once

namespace inferd::gateway {

class DeathBlame {
 public:
  // Counts one; true: the request is to blame for it and those before.
  bool Add(bool was_worked_on) {
    ++(was_worked_on ? blamed_ : others_);
    return blamed_ >= kMaxBlamed || others_ >= kMaxOthers;
  }
  // It got further.
  void Forget() { blamed_ = others_ = 0; }
  // Goes on alone (resume_gate.h), so that the next death tells.
  bool is_suspect() const { return blamed_ > 0 || others_ > 1; }

 private:
  // While the request was worked on.
  static constexpr int kMaxBlamed = 2;
  // What a dying worker said last may be lost: so many others in a row are no accident.
  static constexpr int kMaxOthers = 4;

  int blamed_ = 0;
  int others_ = 0;
};

}  // namespace inferd::gateway
