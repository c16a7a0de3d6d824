#include "daemon/supervisor.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>

#include "config/base/child_process.h"
#include "config/base/log.h"
#include "config/base/signals.h"
#include "config/base/status.h"
#include "config/base/version.h"
#include "config/load.h"
#include "daemon/admin_server.h"
#include "daemon/canary.h"
#include "daemon/child_plans.h"
#include "daemon/child_users.h"
#include "daemon/control_groups.h"
#include "daemon/event_loop.h"
#include "daemon/file_watch.h"
#include "daemon/fleet.h"
#include "daemon/gateway_keeper.h"
#include "daemon/on_demand.h"
#include "daemon/operations.h"
#include "daemon/routes.h"
#include "daemon/run_directory.h"
#include "daemon/service_manager.h"
#include "inferd/v1/admin.pb.h"

namespace inferd::daemon {
namespace {

enum class Phase { kStarting, kServing, kDraining, kEnded };

// For the gateways to say that they route by a new table. A gateway that is captured must not hold operators up.
constexpr Milliseconds kRoutesTime{2000};

}  // namespace

struct Supervisor::Impl {
  SupervisorOptions options;
  config::Config config;
  UniqueFd run_lock, signals, http, grpc, admin;
  ChildUsers users;
  std::unique_ptr<EventLoop> loop;
  std::unique_ptr<SystemSpawner> spawner;
  RouteBoard routes;
  std::unique_ptr<Fleet> fleet;
  std::unique_ptr<OnDemand> on_demand;
  std::unique_ptr<CanaryWatch> canaries;
  std::unique_ptr<GatewayKeeper> gateway;
  std::unique_ptr<Operations> operations;
  std::unique_ptr<FileWatch> file_watch;
  std::unique_ptr<AdminServer> admin_server;
  std::unique_ptr<ServiceManager> manager;
  Phase phase = Phase::kStarting;
  bool change_posted = false;
  WallTime started_at;
  MonotonicTime drain_deadline;
  std::string last_reload;
  uint64_t reloads_ok = 0, reloads_failed = 0;
  uint32_t reloads_running = 0;
  bool awaiting_routes = false;  // on the way to readiness

  absl::Status OpenSockets();
  absl::Status Build(Supervisor& supervisor);
  std::unique_ptr<ControlGroups> MakeGroups() const;
  void StartModels();
  void OnSignals();
  void ReapChildren();
  void OnChange();
  void AfterChange();
  void ReportReadiness();
  bool CanServe() const { return gateway->state() == WorkerState::kReady && fleet->Settled(); }
  void WhenRouted(std::function<void()> then);
  void BeginDrain();
  void ContinueDrain();
  void KillEverything();
  void ApplySettings(const ReloadPlan& plan, std::function<void(absl::Status)> done);
  void FeedWatchdog(Milliseconds interval);
  void Reload(bool dry_run, std::function<void(absl::StatusOr<std::vector<std::string>>)> done);
};

// ---------------------------------------------------------------------------------------------------------------
// set-up

absl::StatusOr<std::unique_ptr<Supervisor>> Supervisor::Create(const SupervisorOptions& options,
                                                               const config::Config& config) {
  // First of all: threads that start later inherit the blocked signals.
  ASSIGN_OR_RETURN(UniqueFd signals, OpenSignalFd({SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGCHLD}));
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  impl->config = config;
  impl->signals = std::move(signals);
  RETURN_IF_ERROR(impl->OpenSockets());
  return std::unique_ptr<Supervisor>(new Supervisor(std::move(impl)));
}

absl::Status Supervisor::Build() { return impl_->Build(*this); }

absl::Status Supervisor::Impl::OpenSockets() {
  ASSIGN_OR_RETURN(run_lock, PrepareRunDirectory(config.run_directory));
  ASSIGN_OR_RETURN(http, Listen(config.listen.http));
  ASSIGN_OR_RETURN(grpc, Listen(config.listen.grpc));
  ASSIGN_OR_RETURN(admin, Listen(config.listen.admin));
  RETURN_IF_ERROR(OpenToGroup(config.listen.admin_group, config.run_directory, config.listen.admin.path));
  users = ChildUsers::Choose(options.first_user, config.listen.admin_group);
  RETURN_IF_ERROR(OpenToGateway(users, config));
  // Port 0 has become a real one, which the gateway's probe and the status need.
  config.listen.http = BoundAddress(http.get());
  config.listen.grpc = BoundAddress(grpc.get());
  return absl::OkStatus();
}

absl::Status Supervisor::Impl::Build(Supervisor& supervisor) {
  manager = std::make_unique<ServiceManager>();
  ASSIGN_OR_RETURN(loop, EventLoop::Create(Clock::System()));
  ASSIGN_OR_RETURN(spawner, SystemSpawner::Create(MakeGroups()));
  started_at = loop->clock().WallNow();
  fleet = std::make_unique<Fleet>(
      *loop, *spawner,
      [this](const config::ModelOptions& model, uint64_t version) {
        const uint32_t user = users.ForWorker([this](uint32_t taken) { return fleet->HasUser(taken); });
        return PlanWorker(*loop, config, options.programs, model, version, users, user);
      },
      [this] { OnChange(); });
  canaries = std::make_unique<CanaryWatch>(*loop, *fleet);
  on_demand = std::make_unique<OnDemand>(*loop, *fleet, config.supervisor);
  gateway = std::make_unique<GatewayKeeper>(
      *loop, *spawner,
      [this, number = uint64_t{0}]() mutable {
        return PlanGateway(*loop, config, options.programs, {.http_fd = http.get(), .grpc_fd = grpc.get()}, ++number,
                           users);
      },
      [this] { OnChange(); });
  operations = std::make_unique<Operations>(OperationsContext{
      .loop = *loop,
      .fleet = *fleet,
      .config_file = options.config_file,
      .config = config,
      .apply_settings = [this](const ReloadPlan& plan, auto done) { ApplySettings(plan, std::move(done)); },
      .gateway_failed = [this] { return gateway->state() == WorkerState::kFailed; },
      .replace_gateway = [this](auto done) { gateway->Replace(config.supervisor.drain, std::move(done)); },
      .gateway_started = [this] { return gateway->program(); },
      .gateway_pid = [this] { return gateway->pid(); },
      .gateway_program = GatewayProgram(options.programs)});
  file_watch = std::make_unique<FileWatch>(*loop, *fleet, *operations);
  ASSIGN_OR_RETURN(admin_server, AdminServer::Start(supervisor, admin.get(), config));
  loop->WatchReadable(signals.get(), [this] { OnSignals(); });
  return absl::OkStatus();
}

// For models that have a memory limit when the daemon starts; null where groups are not ours to make.
std::unique_ptr<ControlGroups> Supervisor::Impl::MakeGroups() const {
  const auto limited = [](const config::ModelOptions& model) { return model.memory_limit > 0; };
  if (std::none_of(config.models.begin(), config.models.end(), limited)) return nullptr;
  absl::StatusOr<std::unique_ptr<ControlGroups>> groups = ControlGroups::Create();
  if (groups.ok()) return *std::move(groups);
  LogInfo("memory_limit without control groups", {{"reason", MessageOf(groups.status())}});
  return nullptr;
}

Supervisor::Supervisor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Supervisor::~Supervisor() = default;

// ------------------------------------------------------------------------------------------------------------- running

int Supervisor::Run() {
  LogInfo("inferd starts", {{"version", kVersion},
                            {"pid", getpid()},
                            {"http", impl_->config.listen.http.ToString()},
                            {"grpc", impl_->config.listen.grpc.ToString()},
                            {"admin", impl_->config.listen.admin.ToString()},
                            {"models", impl_->config.models.size()}});
  if (impl_->users) LogInfo("children get users of their own", {{"first_user", impl_->users.gateway()}});
  if (!impl_->users.why().empty()) LogWarning("children run as root", {{"reason", impl_->users.why()}});
  impl_->manager->Status("starting");
  if (const auto interval = ServiceManager::WatchdogInterval()) impl_->FeedWatchdog(*interval);
  impl_->StartModels();
  impl_->gateway->Start();
  impl_->file_watch->Start();
  impl_->OnChange();
  impl_->loop->Run();
  const config::ListenOptions& listen = impl_->config.listen;
  for (const Address* address : {&listen.http, &listen.grpc, &listen.admin}) {
    if (address->is_unix()) unlink(address->path.c_str());
  }
  impl_->manager.reset();  // sends what is waiting
  LogInfo("inferd ends");
  return kExitDone;
}

void Supervisor::Impl::StartModels() {
  fleet->Atomically([&] {
    for (const config::ModelOptions& options : config.models) {
      // A file that is not there is the worker's to refuse: it shows as the model's state.
      const FileIdentity file = IdentifyModel(options).value_or(FileIdentity());
      fleet->Route(fleet->AddVersion(fleet->AddModel(options), options, file), 100);
    }
    on_demand->StartAll();
  });
}

void Supervisor::Impl::FeedWatchdog(Milliseconds interval) {
  manager->FeedWatchdog();
  loop->RunAfter(interval, [this, interval] { FeedWatchdog(interval); });
}

void Supervisor::Impl::OnSignals() {
  while (const std::optional<int> signal = ReadSignal(signals.get())) {
    switch (*signal) {
      case SIGCHLD:
        ReapChildren();
        break;
      case SIGHUP:
      case SIGUSR1:
        Reload(/*dry_run=*/false, [](const auto&) {});
        break;
      default:
        LogInfo("signal", {{"signal", *signal}});
        phase == Phase::kDraining ? KillEverything() : BeginDrain();
    }
  }
}

void Supervisor::Impl::ReapChildren() {
  int status = 0;
  for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0; pid = waitpid(-1, &status, WNOHANG)) {
    if (!fleet->OnExit(pid, status)) gateway->OnExit(pid, status);
  }
  if (phase == Phase::kDraining) ContinueDrain();
}

// Several changes of one turn of the loop are looked at once, when no process object is on the stack.
void Supervisor::Impl::OnChange() {
  if (std::exchange(change_posted, true)) return;
  loop->Post([this] {
    change_posted = false;
    AfterChange();
  });
}

void Supervisor::Impl::AfterChange() {
  routes.Publish(fleet->Routes());
  operations->OnFleetChange();
  if (phase == Phase::kDraining) return ContinueDrain();
  on_demand->Check();
  canaries->Check();
  ReportReadiness();
}

void Supervisor::Impl::ReportReadiness() {
  if (phase == Phase::kServing) return manager->Status(fleet->Summary());
  if (!CanServe() || std::exchange(awaiting_routes, true)) return;
  WhenRouted([this] {
    awaiting_routes = false;
    if (phase != Phase::kStarting || !CanServe()) return;
    phase = Phase::kServing;
    manager->Ready(fleet->Summary());
    LogInfo("serving", {{"http", config.listen.http.ToString()}, {"state", fleet->Summary()}});
  });
}

void Supervisor::Impl::WhenRouted(std::function<void()> then) {
  // After the publication, which a change has posted.
  loop->Post([this, then = std::make_shared<std::function<void()>>(std::move(then))] {
    const auto once = [then](bool routed) {
      if (!*then) return;
      if (!routed) LogWarning("a gateway has not confirmed the routes", {{"waited_ms", kRoutesTime.count()}});
      std::exchange(*then, nullptr)();
    };
    const EventLoop::TimerId timer = loop->RunAfter(kRoutesTime, [once] { once(false); });
    routes.WhenInForce([this, once, timer] {
      loop->Cancel(timer);
      once(true);
    });
  });
}

// ----------------------------------------------------------------------------------------------------------------- end

// First the gateway, whose streams need the workers, then the workers. The gateway's own listeners are the last: once
// they close, clients are refused at once instead of waiting for somebody to accept them.
void Supervisor::Impl::BeginDrain() {
  phase = Phase::kDraining;
  drain_deadline = loop->clock().Now() + config.supervisor.drain;
  manager->Stopping("finishing requests");
  on_demand->Stop();
  operations->Cancel();
  gateway->StopAll(config.supervisor.drain);
  http.Reset();
  grpc.Reset();
  ContinueDrain();
}

void Supervisor::Impl::ContinueDrain() {
  if (gateway->AnyProcess()) return;
  if (fleet->AnyProcess()) {
    const auto left = std::chrono::ceil<Milliseconds>(drain_deadline - loop->clock().Now());
    fleet->StopAll(std::max(Milliseconds(0), left));
    return;
  }
  phase = Phase::kEnded;
  loop->Stop();
}

void Supervisor::Impl::KillEverything() {
  gateway->KillAll();
  fleet->KillAll();
}

// -------------------------------------------------------------------------------------------------------------- reload

void Supervisor::Impl::ApplySettings(const ReloadPlan& plan, std::function<void(absl::Status)> done) {
  fleet->SetOptions(config.supervisor);
  gateway->SetOptions(config.supervisor);
  if (!plan.replace_gateway) return done(absl::OkStatus());
  gateway->Replace(config.supervisor.drain, [this, done = std::move(done)](const absl::Status& replaced) {
    if (replaced.ok()) SetLogLevel(config.log.level);
    done(replaced);
  });
}

void Supervisor::Impl::Reload(bool dry_run, std::function<void(absl::StatusOr<std::vector<std::string>>)> done) {
  if (dry_run) return operations->Reload(true, std::move(done));
  if (reloads_running++ == 0) manager->Reloading(loop->clock().Now());
  operations->Reload(false, [this, done = std::move(done)](absl::StatusOr<std::vector<std::string>> changes) {
    if (changes.ok()) {
      ++reloads_ok;
      last_reload = "ok";
      LogInfo("reloaded", {{"changes", fmt::format("{}", fmt::join(*changes, "; "))}});
    } else {
      ++reloads_failed;
      last_reload = MessageOf(changes.status());
      LogError("reload failed, the old configuration goes on", {{"reason", last_reload}});
    }
    WhenRouted([this, changes = std::move(changes), done] {
      if (--reloads_running == 0 && phase == Phase::kServing) manager->Ready(fleet->Summary());
      done(changes);
    });
  });
}

// ---------------------------------------------------------------------------------------------- for the admin service

EventLoop& Supervisor::loop() { return *impl_->loop; }
Operations& Supervisor::operations() { return *impl_->operations; }
RouteBoard& Supervisor::routes() { return impl_->routes; }
void Supervisor::WhenRouted(std::function<void()> then) { impl_->WhenRouted(std::move(then)); }
GatewayKeeper& Supervisor::gateway() { return *impl_->gateway; }
OnDemand& Supervisor::on_demand() { return *impl_->on_demand; }
CanaryWatch& Supervisor::canaries() { return *impl_->canaries; }
Milliseconds Supervisor::drain() const { return impl_->config.supervisor.drain; }
bool Supervisor::changes_users() const { return static_cast<bool>(impl_->users); }
bool Supervisor::IsWorker(pid_t pid) const { return impl_->fleet->Has(pid); }

void Supervisor::Reload(bool dry_run, std::function<void(absl::StatusOr<std::vector<std::string>>)> done) {
  impl_->Reload(dry_run, std::move(done));
}

absl::Status Supervisor::SetTraffic(const std::string& name, const TrafficWeights& weights,
                                    const std::string& rollback_on, Milliseconds window) {
  std::optional<RollbackCondition> condition;
  if (!rollback_on.empty()) {
    ASSIGN_OR_RETURN(condition, ParseRollbackCondition(rollback_on));
  }
  const Model* const model = impl_->fleet->Resolve(name);
  const TrafficWeights former = model == nullptr ? TrafficWeights() : WeightsOf(*model);
  RETURN_IF_ERROR(impl_->operations->SetTraffic(name, weights));
  impl_->canaries->End(model->options.name);
  return condition ? impl_->canaries->Begin(name, former, *condition, window) : absl::OkStatus();
}

void Supervisor::FillStatus(v1::StatusResponse& status) const {
  status.set_version(std::string(kVersion));
  status.set_pid(getpid());
  status.set_started_unix_seconds(std::chrono::system_clock::to_time_t(impl_->started_at));
  const bool reloading = impl_->reloads_running > 0 && impl_->phase == Phase::kServing;
  status.set_state(reloading                          ? "reloading"
                   : impl_->phase == Phase::kStarting ? "starting"
                   : impl_->phase == Phase::kServing  ? "ready"
                                                      : "draining");
  impl_->fleet->FillStatus(status);
  impl_->canaries->FillStatus(status);
  impl_->gateway->FillStatus(*status.mutable_gateway());
  status.set_route_revision(impl_->routes.revision());
  status.set_last_reload(impl_->last_reload);
  status.set_reloads_ok(impl_->reloads_ok);
  status.set_reloads_failed(impl_->reloads_failed);
  status.set_config_path(impl_->options.config_file);
  status.set_memory_planned_bytes(impl_->on_demand->planned_bytes());
  status.set_memory_budget_bytes(impl_->config.supervisor.memory_budget);
  status.set_http_address(impl_->config.listen.http.ToString());
  status.set_grpc_address(impl_->config.listen.grpc.ToString());
}

}  // namespace inferd::daemon
