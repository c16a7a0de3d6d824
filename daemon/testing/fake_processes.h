// Children that exist on paper alone: a spawner and probes by which a test plays their part, on a clock of its own.
//
//   FakeProcesses fake;
//   ManagedProcess process(fake.loop(), fake, fake.Plan("chat@1"), [] {});
//   process.Start();
//   fake.Health(process.pid(), true);
//   fake.Run();
#pragma once

#include <csignal>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/base/status.h"
#include "daemon/event_loop.h"
#include "daemon/managed_process.h"
#include "daemon/spawner.h"

namespace inferd::daemon {

class FakeProcesses : public Spawner {
 public:
  FakeProcesses() : loop_(EventLoop::Create(clock_).value()) {}

  EventLoop& loop() { return *loop_; }
  void Run() { loop_->RunPending(); }
  // In steps, as timers of a real loop come one after another.
  void Advance(Milliseconds by) {
    for (Milliseconds passed{0}; passed < by; passed += Milliseconds(10)) {
      clock_.Advance(Milliseconds(10));
      Run();
    }
  }

  // A plan whose probe the test plays; its process is found by the pid that Spawn gave last.
  ProcessPlan Plan(const std::string& name) {
    ProcessPlan plan;
    plan.name = name;
    plan.spec.arguments = {name};
    plan.quiet_arguments = {"quietly"};
    plan.probe = [this](ProbeEvents events) {
      return std::make_unique<FakeProbe>(*this, next_pid_ - 1, std::move(events));
    };
    plan.random = [] { return 0.0; };
    plan.options.restart = {.first_delay = Milliseconds(100), .max_delay = Milliseconds(1000), .max = 3};
    return plan;
  }

  absl::StatusOr<Spawned> Spawn(const ProcessSpec& spec) override {
    if (!spawn_error.empty()) return Internal("{}", spawn_error);
    spawned.push_back(spec.arguments.empty() ? "" : spec.arguments.front());
    if (spec.arguments.size() > 1) spawned.back() += " " + spec.arguments.back();
    return Spawned{.pid = next_pid_++};
  }
  void Signal(pid_t pid, int signal) override { signals.emplace_back(pid, signal); }
  void Terminate(pid_t pid, Milliseconds drain) override {
    signals.emplace_back(pid, SIGTERM);
    last_drain = drain;
  }

  void Health(pid_t pid, bool serving) {
    if (probes_.contains(pid)) probes_[pid]->events.on_health(serving);
  }
  // What the next Ask is answered with; without one it is not answered.
  void SetReport(pid_t pid, WorkerReport report) { reports_[pid] = std::move(report); }
  void Silence(pid_t pid) { reports_.erase(pid); }

  std::string spawn_error;
  Milliseconds last_drain{-1};
  std::vector<std::string> spawned;  // name of each, and whether quietly
  std::vector<std::pair<pid_t, int>> signals;

 private:
  struct FakeProbe : Probe {
    FakeProbe(FakeProcesses& fake, pid_t pid, ProbeEvents events) : fake(fake), pid(pid), events(std::move(events)) {
      fake.probes_[pid] = this;
    }
    ~FakeProbe() override { fake.probes_.erase(pid); }
    void Ask(uint64_t number) override {
      const auto found = fake.reports_.find(pid);
      if (found == fake.reports_.end()) return;
      WorkerReport report = found->second;
      report.number = number;
      fake.loop_->Post([&fake = fake, pid = pid, report] {
        if (fake.probes_.contains(pid)) fake.probes_[pid]->events.on_report(report);
      });
    }
    void StopWatching() override {}

    FakeProcesses& fake;
    const pid_t pid;
    const ProbeEvents events;
  };

  FakeClock clock_;
  std::unique_ptr<EventLoop> loop_;
  pid_t next_pid_ = 100'000'000;  // beyond what the kernel gives
  std::map<pid_t, FakeProbe*> probes_;
  std::map<pid_t, WorkerReport> reports_;
};

// What waitpid would give.
inline int ExitedWith(int code) { return code << 8; }
inline int KilledBy(int signal) { return signal; }

}  // namespace inferd::daemon
