#include "gateway/gateway.h"

#include <sys/resource.h>

#include <algorithm>
#include <thread>

#include "config/base/log.h"
#include "config/base/repeating_thread.h"
#include "config/base/status.h"
#include "config/config.h"
#include "gateway/async/work_threads.h"
#include "gateway/auth/access.h"
#include "gateway/auth/keys_refresher.h"
#include "gateway/calls/model_loader.h"
#include "gateway/gateway_app.h"
#include "gateway/grpc/public_server.h"
#include "gateway/http/server.h"
#include "gateway/metrics/metrics_page.h"
#include "gateway/metrics/outcome_reporter.h"
#include "gateway/routing/poison_list.h"
#include "gateway/routing/resume_gate.h"
#include "gateway/routing/route_follower.h"
#include "gateway/routing/routes.h"
#include "gateway/serving/gateway_metrics.h"

namespace inferd::gateway {
namespace {

// Descriptors that are kept for workers, the log and the supervisor when clients take all they can.
constexpr size_t kReservedDescriptors = 64;
constexpr int kMaxIoThreads = 4;
// For requests on connections of clients that do not know yet that another gateway has taken over.
constexpr std::chrono::milliseconds kHandOverLinger{2'000};
// For requests that outlast the drain to be told so; less than the supervisor waits before it kills.
constexpr std::chrono::milliseconds kGoodbye{1'000};

int IoThreads() { return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxIoThreads); }

// For large bodies: more would only compete with the loops.
int ParseThreads() { return std::max(1, IoThreads() / 2); }

// No more connections than the process may have descriptors, less the reserve.
size_t ConnectionLimit(size_t configured) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return configured;
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
  }
  size_t available = limit.rlim_cur > 2 * kReservedDescriptors ? limit.rlim_cur - kReservedDescriptors
                                                               : static_cast<size_t>(limit.rlim_cur) / 2;
  return std::min(configured, available);
}

HttpOptions MakeHttpOptions(const config::LimitOptions& limits, ByteBudget& bodies) {
  HttpOptions options;
  options.max_body_bytes = limits.body;
  options.max_head_bytes = limits.header;
  options.head_timeout = limits.header_timeout;
  options.body_timeout = limits.body_timeout;
  options.idle_timeout = limits.idle_timeout;
  options.max_connections = ConnectionLimit(limits.connections);
  options.bodies = &bodies;
  return options;
}

}  // namespace

// In the order of construction; each uses only what stands above it.
struct Gateway::Parts {
  Parts(const config::Config& config, std::unique_ptr<Access> keys, const std::string& admin, std::string health_name)
      : access(std::move(keys)),
        poison(Clock::System()),
        loader(admin),
        upstream{routes, workers, poison, gate},
        metrics_page(metrics, upstream, admin, config.auth.metrics_for_all),
        bodies(config.limits.all_bodies),
        parsers(ParseThreads()),
        app(Serving{upstream, metrics, &bodies, access.get(), &parsers}, *access, metrics_page),
        pool(IoThreads()),
        server(pool, app, MakeHttpOptions(config.limits, bodies)),
        public_server(pool, Serving{upstream, metrics, &bodies, access.get()}, *access,
                      {.max_message_bytes = config.limits.body, .idle_timeout = config.limits.idle_timeout}),
        refresher(pool.At(0), *access) {
    upstream.on_resumed = [this](const std::string& model) { metrics.Resumed(model); };
    upstream.load_wait = config.supervisor.load_wait;
    upstream.ensure_loaded = [this](std::string model, Executor executor) {
      return loader.EnsureLoaded(std::move(model), std::move(executor));
    };
    routes.OnUpdate([this, health_name = std::move(health_name)](const RouteTable& table) mutable {
      workers.KeepOnly(table);
      // Before the first table it can serve nobody.
      if (!health_name.empty()) public_server.SayServing(std::exchange(health_name, ""));
    });
    follower = std::make_unique<RouteFollower>(admin, routes);
    outcomes = std::make_unique<OutcomeReporter>(admin, metrics);
  }

  std::unique_ptr<Access> access;
  Routes routes;
  WorkerPool workers;
  PoisonList poison;
  ResumeGate gate;
  GatewayMetrics metrics;
  ModelLoader loader;
  Upstream upstream;
  MetricsPage metrics_page;
  ByteBudget bodies;
  WorkThreads parsers;
  GatewayApp app;
  IoPool pool;
  HttpServer server;
  PublicServer public_server;
  KeysRefresher refresher;
  std::unique_ptr<RouteFollower> follower;
  std::unique_ptr<OutcomeReporter> outcomes;
};

Gateway::Gateway(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Gateway::~Gateway() { parts_->pool.Stop(); }

absl::StatusOr<std::unique_ptr<Gateway>> Gateway::Start(const config::Config& config, GatewaySockets sockets) {
  ASSIGN_OR_RETURN(std::unique_ptr<Access> access,
                   Access::Create(config.auth, config.limits.requests_per_minute, Clock::System()));
  auto parts = std::make_unique<Parts>(config, std::move(access), sockets.admin, sockets.health_name);
  parts->server.Listen(std::move(sockets.http));
  parts->public_server.Listen(std::move(sockets.grpc), parts->server.limit());
  return std::unique_ptr<Gateway>(new Gateway(std::move(parts)));
}

void Gateway::RefuseNewRequests() { parts_->upstream.shutting_down = true; }

// Returns a pause that outlasts the rest.
std::chrono::milliseconds Gateway::EndRequests() {
  parts_->upstream.running.EndAll(
      Unavailable("the server is shutting down and the time for requests under way is over"));
  return std::chrono::hours(1);
}

bool Gateway::Drain(std::chrono::milliseconds longest) {
  const TimePoint deadline = std::chrono::steady_clock::now() + longest + kGoodbye;
  std::chrono::milliseconds linger = kHandOverLinger;
  const RepeatingThread late(
      [&, first = true]() mutable { return std::exchange(first, false) ? longest : EndRequests(); });
  if (parts_->upstream.shutting_down) {
    parts_->server.AwaitNoRequest(deadline);
    parts_->public_server.AwaitNoCall(deadline);
    linger = std::chrono::milliseconds(0);
  }
  bool grpc_drained = false;
  // Both at once: the second waits as long as the first.
  std::thread grpc([&] { grpc_drained = parts_->public_server.Drain(deadline); });
  bool http_drained = parts_->server.Drain(deadline, linger);
  grpc.join();
  return http_drained && grpc_drained;
}

}  // namespace inferd::gateway
