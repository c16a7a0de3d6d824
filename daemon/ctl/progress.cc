#include "daemon/ctl/progress.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <thread>

#include "config/base/print.h"
#include "config/base/steady_mutex.h"
#include "daemon/ctl/status_view.h"

namespace inferd::daemon {
namespace {

constexpr Milliseconds kLookEvery{100};
constexpr std::chrono::seconds kLookDeadline{2};

std::string Describe(const v1::WorkerStatus& worker) {
  std::string text = worker.state();
  if (worker.state() == "LOADING" && worker.load_progress() > 0) {
    text += fmt::format(" {:.0f} %", worker.load_progress() * 100);
  }
  const bool ended_badly = worker.state() == "FAILED" || worker.state() == "BACKOFF" || worker.state() == "CRASHED";
  if (ended_badly && !worker.last_error().empty()) text += ", " + worker.last_error();
  return text;
}

}  // namespace

bool Progress::IsMeant(const v1::WorkerStatus& worker) const {
  const auto& aliases = worker.aliases();
  return model_.empty() || worker.model() == model_ ||
         std::find(aliases.begin(), aliases.end(), model_) != aliases.end();
}

std::vector<std::string> Progress::Changes(const v1::StatusResponse& status) {
  std::vector<std::string> lines;
  auto former = std::exchange(states_, {});
  for (const v1::WorkerStatus& worker : status.workers()) {
    if (!IsMeant(worker)) continue;
    const std::pair key(worker.model(), worker.version());
    const std::string& state = states_[key] = Describe(worker);
    if (former[key] != state) lines.push_back(fmt::format("{}@{}: {}", worker.model(), worker.version(), state));
    former.erase(key);
  }
  for (const auto& [key, state] : former) lines.push_back(fmt::format("{}@{}: gone", key.first, key.second));
  if (!std::exchange(looked_, true)) lines.clear();
  return lines;
}

grpc::Status WithProgress(v1::Admin::Stub& admin, const std::string& model, const std::function<grpc::Status()>& call) {
  Progress progress(model);
  const auto look = [&] {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kLookDeadline);
    v1::StatusResponse status;
    if (!admin.Status(&context, {}, &status).ok()) return;
    for (const std::string& line : progress.Changes(status)) PrintStderr("{}\n", Printable(line));
  };
  look();
  SteadyMutex mutex;
  bool ended = false;
  grpc::Status result;
  std::thread caller([&] {
    const grpc::Status status = call();
    SteadyLock lock(&mutex);
    result = status;
    ended = true;
  });
  for (bool over = false; !over;) {
    {
      SteadyLock lock(&mutex);
      over = mutex.AwaitUntil([&] { return ended; }, Clock::System().Now() + kLookEvery);
    }
    look();
  }
  caller.join();
  return result;
}

}  // namespace inferd::daemon
