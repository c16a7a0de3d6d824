// gRPC calls back on its own threads; everything is posted to the loop, where a probe that is gone is recognised by its
// expired token.
#include "daemon/probe.h"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include "config/base/status.h"
#include "daemon/event_loop.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "inferd/v1/worker.grpc.pb.h"

namespace inferd::daemon {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

constexpr Milliseconds kConnectInterval{5};
constexpr Milliseconds kReconnectInterval{20};
constexpr std::chrono::seconds kAskDeadline{5};

// Where answers go, on the loop; calls after Close do nothing.
class Outlet : public std::enable_shared_from_this<Outlet> {
 public:
  Outlet(EventLoop& loop, ProbeEvents events) : loop_(loop), events_(std::move(events)) {}

  void PostHealth(bool serving) {
    loop_.Post([self = shared_from_this(), serving] {
      if (self->open_) self->events_.on_health(serving);
    });
  }
  void PostReport(WorkerReport report) {
    loop_.Post([self = shared_from_this(), report = std::move(report)] {
      if (self->open_) self->events_.on_report(report);
    });
  }
  // On the loop.
  void Close() { open_ = false; }

 private:
  EventLoop& loop_;
  const ProbeEvents events_;
  bool open_ = true;  // used on the loop's thread alone
};

// One Health.Watch call; deletes itself when the call has ended.
class HealthWatch : public grpc::ClientReadReactor<HealthCheckResponse> {
 public:
  static std::shared_ptr<grpc::ClientContext> Start(const std::shared_ptr<grpc::Channel>& channel,
                                                    const std::string& service, bool tells_end,
                                                    std::shared_ptr<Outlet> outlet) {
    auto* const watch = new HealthWatch(channel, service, tells_end, std::move(outlet));
    auto context = watch->context_;
    watch->StartCall();
    return context;
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    outlet_->PostHealth(response_.status() == HealthCheckResponse::SERVING);
    StartRead(&response_);
  }
  void OnDone(const grpc::Status& status) override {
    if (tells_end_ && status.error_code() != grpc::StatusCode::CANCELLED) outlet_->PostHealth(false);
    delete this;
  }

 private:
  HealthWatch(const std::shared_ptr<grpc::Channel>& channel, const std::string& service, bool tells_end,
              std::shared_ptr<Outlet> outlet)
      : stub_(Health::NewStub(channel)), tells_end_(tells_end), outlet_(std::move(outlet)) {
    context_->set_wait_for_ready(true);
    request_.set_service(service);
    stub_->async()->Watch(context_.get(), &request_, this);
    StartRead(&response_);
  }

  const std::unique_ptr<Health::Stub> stub_;
  const bool tells_end_;  // as not serving
  const std::shared_ptr<Outlet> outlet_;
  const std::shared_ptr<grpc::ClientContext> context_ = std::make_shared<grpc::ClientContext>();
  HealthCheckRequest request_;
  HealthCheckResponse response_;
};

WorkerReport ToReport(const v1::StatsResponse& stats, uint64_t number) {
  return {.number = number,
          .model = stats.model(),
          .version = stats.version(),
          .fingerprint = stats.fingerprint(),
          .tokenizer_fingerprint = stats.tokenizer_fingerprint(),
          .progress = stats.progress(),
          .requests = stats.requests_running() + stats.requests_waiting(),
          .load_progress = stats.load_progress(),
          .resident_bytes = stats.resident_bytes()};
}

void AskStats(v1::Worker::Stub& stub, uint64_t number, std::shared_ptr<Outlet> outlet) {
  struct Call {
    grpc::ClientContext context;
    v1::StatsRequest request;
    v1::StatsResponse response;
  };
  auto call = std::make_shared<Call>();
  call->context.set_deadline(std::chrono::system_clock::now() + kAskDeadline);
  stub.async()->Stats(&call->context, &call->request, &call->response,
                      [call, number, outlet](const grpc::Status& status) {
                        if (status.ok()) outlet->PostReport(ToReport(call->response, number));
                      });
}

class WorkerProbe : public Probe {
 public:
  WorkerProbe(EventLoop& loop, std::string socket_path, ProbeEvents events)
      : loop_(loop), socket_path_(std::move(socket_path)), outlet_(std::make_shared<Outlet>(loop, std::move(events))) {
    Connect();
  }
  ~WorkerProbe() override {
    outlet_->Close();
    StopWatching();
  }

  void Ask(uint64_t number) override {
    if (stub_ != nullptr) AskStats(*stub_, number, outlet_);
  }
  void StopWatching() override {
    loop_.Cancel(timer_);
    if (watch_ != nullptr) watch_->TryCancel();
  }

 private:
  void Connect() {
    absl::StatusOr<UniqueFd> fd = ConnectUnix(socket_path_);
    if (!fd.ok()) {
      timer_ = loop_.RunAfter(kConnectInterval, [this] { Connect(); });
      return;
    }
    // The channel has this one connection: when it breaks, the process is gone or hung, which others find out.
    const auto channel = grpc::CreateInsecureChannelFromFd("worker", fd->Release());
    stub_ = v1::Worker::NewStub(channel);
    // Not the server as a whole: gRPC shows that as serving for a moment before the worker can say otherwise.
    watch_ = HealthWatch::Start(channel, "inferd.v1.Inference", /*tells_end=*/false, outlet_);
  }

  EventLoop& loop_;
  const std::string socket_path_;
  const std::shared_ptr<Outlet> outlet_;
  EventLoop::TimerId timer_ = 0;
  std::unique_ptr<v1::Worker::Stub> stub_;
  std::shared_ptr<grpc::ClientContext> watch_;
};

class GatewayProbe : public Probe {
 public:
  GatewayProbe(EventLoop& loop, const Address& address, std::string health_name, ProbeEvents events)
      : loop_(loop), target_(address.Local().ToString()), health_name_(std::move(health_name)) {
    events.on_health = [this, tell = std::move(events.on_health)](bool serving) {
      if (!serving) ConnectLater();
      tell(serving);
    };
    outlet_ = std::make_shared<Outlet>(loop, std::move(events));
    Connect();
  }
  ~GatewayProbe() override {
    outlet_->Close();
    StopWatching();
  }

  void Ask(uint64_t number) override { outlet_->PostReport({.number = number}); }
  void StopWatching() override {
    stopped_ = true;
    loop_.Cancel(timer_);
    watch_->TryCancel();
  }

 private:
  void Connect() {
    grpc::ChannelArguments arguments;
    // A connection of its own, so that none to another gateway is used.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
    const auto channel = grpc::CreateCustomChannel(target_, grpc::InsecureChannelCredentials(), arguments);
    watch_ = HealthWatch::Start(channel, health_name_, /*tells_end=*/true, outlet_);
  }
  // Another gateway answered, or ours does not serve.
  void ConnectLater() {
    if (stopped_) return;
    watch_->TryCancel();
    loop_.Cancel(timer_);
    timer_ = loop_.RunAfter(kReconnectInterval, [this] { Connect(); });
  }

  EventLoop& loop_;
  const std::string target_;
  const std::string health_name_;
  std::shared_ptr<Outlet> outlet_;
  EventLoop::TimerId timer_ = 0;
  bool stopped_ = false;
  std::shared_ptr<grpc::ClientContext> watch_;
};

}  // namespace

std::unique_ptr<Probe> ProbeWorker(EventLoop& loop, const std::string& socket_path, ProbeEvents events) {
  return std::make_unique<WorkerProbe>(loop, socket_path, std::move(events));
}

std::unique_ptr<Probe> ProbeGateway(EventLoop& loop, const Address& address, const std::string& health_name,
                                    ProbeEvents events) {
  return std::make_unique<GatewayProbe>(loop, address, health_name, std::move(events));
}

}  // namespace inferd::daemon
