// Loading beside workers that serve: the process takes a small share of the processors until it is ready, so that the
// others' streams do not falter.
//
//   QuietLoad quiet = QuietLoad::Begin();
//   ... load ...
//   quiet.End();            // before the last stage of the sandbox, which forbids it
#pragma once

namespace inferd::worker {

class QuietLoad {
 public:
  // Lowers the calling thread, and those that it starts. Does nothing where the process could not take its priority
  // back, which needs a limit on niceness that allows the present one (sandbox::AllowReturnOfNiceness, or LimitNICE of
  // systemd), or where
  // its process group is not its own: the way back is for the whole group.
  static QuietLoad Begin();
  // All threads of the process group get the niceness that the calling one had at first.
  void End();

  bool active() const { return lowered_by_ > 0; }

 private:
  explicit QuietLoad(int lowered_by) : lowered_by_(lowered_by) {}
  int lowered_by_;
};

}  // namespace inferd::worker
