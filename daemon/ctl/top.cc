// inferctl top: what each worker does, asked on its own socket.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <map>

#include "config/base/child_process.h"
#include "config/base/print.h"
#include "config/base/status.h"
#include "daemon/ctl/status_view.h"
#include "daemon/ctl/verbs.h"
#include "inferd/v1/admin.grpc.pb.h"
#include "inferd/v1/worker.grpc.pb.h"

namespace inferd::daemon {
namespace {

constexpr int kIntervalMilliseconds = 1000;
constexpr std::chrono::milliseconds kAskDeadline{500};

// Asks workers, and remembers their counters for rates.
class WorkerWatch {
 public:
  std::string Line(const v1::WorkerStatus& worker) {
    const std::string name = fmt::format("{}@{}", worker.model(), worker.version());
    v1::StatsResponse stats;
    if (worker.pid() == 0 || !Ask(worker.address(), stats)) return fmt::format("{:<24} {:<10}\n", name, worker.state());
    Counters& before = before_[worker.address()];
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - before.time).count();
    const auto rate = [&](uint64_t is, uint64_t was) {
      return is < was ? 0.0 : static_cast<double>(is - was) / seconds;
    };
    // Of the prompts since the last look; of all at the first look, and where the worker has begun anew.
    const bool first = before.prompt_tokens == kNever || stats.prompt_tokens() < before.prompt_tokens;
    const double cached = Percent(stats.cached_prompt_tokens() - (first ? 0 : before.cached_tokens),
                                  stats.prompt_tokens() - (first ? 0 : before.prompt_tokens));
    const std::string line = fmt::format(
        "{:<24} {:<10} {:>7} {:>7} {:>9} {:>9.1f} {:>9.1f} {:>5.1f}% {:>6.1f}% {:>8}\n", name, worker.state(),
        stats.requests_running(), stats.requests_waiting(), stats.sequences_running(),
        rate(stats.prompt_tokens(), before.prompt_tokens), rate(stats.generation_tokens(), before.generation_tokens),
        Percent(stats.kv_pages_used(), stats.kv_pages_total()), cached, stats.resident_bytes() >> 20);
    before = {now, stats.prompt_tokens(), stats.generation_tokens(), stats.cached_prompt_tokens()};
    return line;
  }

 private:
  static constexpr uint64_t kNever = ~uint64_t{0};
  struct Counters {
    std::chrono::steady_clock::time_point time;
    uint64_t prompt_tokens = kNever, generation_tokens = kNever, cached_tokens = 0;
  };

  // 0 of nothing; counters may have begun anew.
  static double Percent(uint64_t part, uint64_t whole) {
    return whole == 0 || part > whole ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  }

  static bool Ask(const std::string& address, v1::StatsResponse& stats) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kAskDeadline);
    const auto stub = v1::Worker::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    return stub->Stats(&context, {}, &stats).ok();
  }

  std::map<std::string, Counters> before_;
};

}  // namespace

grpc::Status Top(v1::Admin::Stub& admin, uint64_t rounds, int interrupts) {
  WorkerWatch watch;
  const bool clears = isatty(STDOUT_FILENO) != 0;
  for (uint64_t round = 0; rounds == 0 || round < rounds; ++round) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    v1::StatusResponse status;
    if (const grpc::Status result = admin.Status(&context, {}, &status); !result.ok()) return result;
    std::string page = fmt::format("{:<24} {:<10} {:>7} {:>7} {:>9} {:>9} {:>9} {:>6} {:>7} {:>8}\n", "MODEL", "STATE",
                                   "RUNNING", "WAITING", "SEQUENCES", "PROMPT/s", "TOKENS/s", "KV", "CACHED", "MiB");
    for (const v1::WorkerStatus& worker : status.workers()) page += watch.Line(worker);
    Print("{}{}", clears ? "\x1b[H\x1b[J" : "", Printable(page));
    std::fflush(stdout);
    pollfd entry{interrupts, POLLIN, 0};
    const bool last = rounds != 0 && round + 1 == rounds;
    if (!last && poll(&entry, 1, kIntervalMilliseconds) > 0) break;
  }
  return grpc::Status::OK;
}

}  // namespace inferd::daemon
