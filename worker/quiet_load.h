// Loading beside workers that serve: the process takes a small share of the processors until it is ready, so that the
// others' streams do not falter.
//
//   QuietLoad quiet = QuietLoad::Begin();
//   ... load ...
//   quiet.End();            // before the sandbox, which forbids it
#pragma once

namespace inferd::worker {

class QuietLoad {
 public:
  // Lowers the calling thread, and those that it starts. Does nothing where the process could not take its priority
  // back, which needs CAP_SYS_NICE or a limit on niceness that allows the present one (LimitNICE of systemd).
  static QuietLoad Begin();
  // All threads of the process get the niceness that the calling one had at first.
  void End();

  bool active() const { return lowered_by_ > 0; }

 private:
  explicit QuietLoad(int lowered_by) : lowered_by_(lowered_by) {}
  int lowered_by_;
};

}  // namespace inferd::worker
