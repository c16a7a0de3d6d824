#include "daemon/admin_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server_posix.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "config/base/address.h"
#include "config/base/log.h"
#include "config/base/status.h"
#include "config/base/unique_fd.h"
#include "config/config.h"
#include "daemon/admin_peer.h"
#include "daemon/canary.h"
#include "daemon/event_loop.h"
#include "daemon/gateway_keeper.h"
#include "daemon/on_demand.h"
#include "daemon/operations.h"
#include "daemon/routes.h"
#include "daemon/supervisor.h"
#include "inferd/v1/admin.grpc.pb.h"

namespace inferd::daemon {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

// The codes of both are the canonical ones, with the same numbers.
grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.raw_code()), std::string(MessageOf(status)));
}

constexpr Milliseconds kCanaryWindow{60'000};

Milliseconds Clamped(uint64_t milliseconds) {
  constexpr uint64_t kDay = 86'400'000;
  return Milliseconds(std::min(milliseconds, kDay));
}

void Fill(const MemoryPlan& plan, v1::MemoryPlan& out) {
  out.set_weights_bytes(plan.weights_bytes);
  out.set_kv_bytes(plan.kv_bytes);
  out.set_scratch_bytes(plan.scratch_bytes);
  out.set_available_bytes(plan.available_bytes);
  out.set_weights_shared(plan.weights_shared);
  out.set_fits(plan.fits);
  out.set_explanation(plan.explanation);
}

// Streams the newest routing table; one that is overtaken before it could be written is skipped. Reads what the watcher
// has applied. Owned by gRPC until OnDone; everything but the constructor runs on the loop.
class RouteStream : public grpc::ServerBidiReactor<v1::WatchRoutesRequest, v1::RouteSnapshot> {
 public:
  explicit RouteStream(Supervisor& supervisor) : supervisor_(supervisor) { StartRead(&request_); }

  void OnReadDone(bool ok) override {
    supervisor_.loop().Post([this, ok] {
      if (watch_ == 0) Watch();
      if (!ok || ended_) return;  // a watcher that has no more to tell may listen still
      supervisor_.routes().Applied(watch_, request_.applied_revision());
      StartRead(&request_);
    });
  }
  void OnWriteDone(bool ok) override {
    supervisor_.loop().Post([this, ok] {
      writing_ = false;
      if (ok)
        WriteNext();
      else
        End();
    });
  }
  void OnCancel() override {
    supervisor_.loop().Post([this] { End(); });
  }
  void OnDone() override {
    supervisor_.loop().Post([this] {
      supervisor_.routes().Unwatch(watch_);
      delete this;
    });
  }

 private:
  void Watch() {
    const auto take = [this](RouteBoard::Snapshot snapshot) {
      newest_ = std::move(snapshot);
      WriteNext();
    };
    watch_ = supervisor_.routes().Watch(take, request_.applies());
  }
  void WriteNext() {
    // Revision 0 is the table before the first one.
    if (writing_ || ended_ || newest_ == nullptr || newest_ == written_ || newest_->revision() == 0) return;
    writing_ = true;
    written_ = newest_;
    StartWrite(written_.get());
  }
  void End() {
    if (!std::exchange(ended_, true)) Finish(grpc::Status::CANCELLED);
  }

  Supervisor& supervisor_;
  v1::WatchRoutesRequest request_;
  uint64_t watch_ = 0;
  RouteBoard::Snapshot newest_, written_;
  bool writing_ = false;
  bool ended_ = false;
};

class AdminService : public v1::Admin::CallbackService {
 public:
  explicit AdminService(Supervisor& supervisor) : supervisor_(supervisor) {}

  ServerUnaryReactor* Status(CallbackServerContext* context, const v1::StatusRequest*,
                             v1::StatusResponse* response) override {
    return OnLoop(context, [this, response](ServerUnaryReactor* reactor) {
      supervisor_.FillStatus(*response);
      reactor->Finish(grpc::Status::OK);
    });
  }

  ServerUnaryReactor* Load(CallbackServerContext* context, const v1::LoadRequest* request,
                           v1::LoadResponse* response) override {
    return OnLoop(context, [this, request, response](ServerUnaryReactor* reactor) {
      supervisor_.operations().Load(request->model(), request->path(), request->dry_run(),
                                    Finishing<SwapResult>(reactor, [response](const SwapResult& result) {
                                      response->mutable_worker()->set_version(result.new_version);
                                      response->mutable_worker()->set_fingerprint(result.fingerprint);
                                      Fill(result.plan, *response->mutable_plan());
                                    }));
    });
  }

  ServerUnaryReactor* Unload(CallbackServerContext* context, const v1::UnloadRequest* request,
                             v1::UnloadResponse* response) override {
    return OnLoop(context, [this, request, response](ServerUnaryReactor* reactor) {
      supervisor_.operations().Unload(
          request->model(), request->version(), Clamped(request->drain_ms()),
          Finishing<uint32_t>(reactor, [response](uint32_t unfinished) { response->set_unfinished(unfinished); }));
    });
  }

  ServerUnaryReactor* Swap(CallbackServerContext* context, const v1::SwapRequest* request,
                           v1::SwapResponse* response) override {
    return OnLoop(context, [this, request, response](ServerUnaryReactor* reactor) {
      const SwapOptions options{.model = request->model(),
                                .path = request->path(),
                                .allow_tokenizer_change = request->allow_tokenizer_change(),
                                .dry_run = request->dry_run(),
                                .drain = Clamped(request->drain_ms())};
      supervisor_.operations().Swap(options, Finishing<SwapResult>(reactor, [response](const SwapResult& result) {
                                      response->set_old_version(result.old_version);
                                      response->set_new_version(result.new_version);
                                      response->set_fingerprint(result.fingerprint);
                                      Fill(result.plan, *response->mutable_plan());
                                    }));
    });
  }

  ServerUnaryReactor* SetTraffic(CallbackServerContext* context, const v1::SetTrafficRequest* request,
                                 v1::SetTrafficResponse* response) override {
    return OnLoop(context, [this, request, response](ServerUnaryReactor* reactor) {
      const std::map<uint64_t, uint32_t> weights(request->weights().begin(), request->weights().end());
      const Milliseconds window = request->window_ms() == 0 ? kCanaryWindow : Clamped(request->window_ms());
      const absl::Status status = supervisor_.SetTraffic(request->model(), weights, request->rollback_on(), window);
      supervisor_.WhenRouted([this, response, reactor, status] {
        response->set_route_revision(supervisor_.routes().revision());
        reactor->Finish(ToGrpc(status));
      });
    });
  }

  ServerUnaryReactor* Drain(CallbackServerContext* context, const v1::DrainRequest* request,
                            v1::DrainResponse* response) override {
    return OnLoop(context, [this, request, response](ServerUnaryReactor* reactor) {
      supervisor_.operations().Drain(
          request->model(), Clamped(request->deadline_ms()),
          Finishing<uint32_t>(reactor, [response](uint32_t unfinished) { response->set_unfinished(unfinished); }));
    });
  }

  ServerUnaryReactor* Reload(CallbackServerContext* context, const v1::ReloadRequest* request,
                             v1::ReloadResponse* response) override {
    using Changes = std::vector<std::string>;
    return OnLoop(context, [this, request, response](ServerUnaryReactor* reactor) {
      supervisor_.Reload(request->dry_run(), Finishing<Changes>(reactor, [response](const Changes& changes) {
                           response->mutable_changes()->Add(changes.begin(), changes.end());
                         }));
    });
  }

  ServerUnaryReactor* RestartGateway(CallbackServerContext* context, const v1::RestartGatewayRequest*,
                                     v1::RestartGatewayResponse* response) override {
    return OnLoop(context, [this, response](ServerUnaryReactor* reactor) {
      supervisor_.operations().RestartGateway(
          Finishing<pid_t>(reactor, [response](pid_t pid) { response->set_pid(pid); }));
    });
  }

  ServerUnaryReactor* EnsureLoaded(CallbackServerContext* context, const v1::EnsureLoadedRequest* request,
                                   v1::EnsureLoadedResponse*) override {
    return OnLoop(context, [this, request](ServerUnaryReactor* reactor) {
      reactor->Finish(ToGrpc(supervisor_.on_demand().Want(request->model())));
    });
  }

  ServerUnaryReactor* ReportOutcomes(CallbackServerContext* context, const v1::ReportOutcomesRequest* request,
                                     v1::ReportOutcomesResponse*) override {
    return OnLoop(context, [this, request](ServerUnaryReactor* reactor) {
      for (const v1::VersionOutcomes& outcome : request->outcomes()) {
        supervisor_.canaries().Report(outcome.model(), outcome.version(), outcome.requests(), outcome.errors());
      }
      reactor->Finish(grpc::Status::OK);
    });
  }

  grpc::ServerBidiReactor<v1::WatchRoutesRequest, v1::RouteSnapshot>* WatchRoutes(CallbackServerContext*) override {
    return new RouteStream(supervisor_);
  }

 private:
  // Request, response and reactor live until the reactor finishes.
  template <typename Call>
  ServerUnaryReactor* OnLoop(CallbackServerContext* context, Call call) {
    ServerUnaryReactor* const reactor = context->DefaultReactor();
    supervisor_.loop().Post([call, reactor] { call(reactor); });
    return reactor;
  }

  // A change is answered once it holds for the next request.
  template <typename Result, typename Fill>
  Operations::Done<Result> Finishing(ServerUnaryReactor* reactor, Fill fill) {
    return [this, reactor, fill](absl::StatusOr<Result> result) {
      if (!result.ok()) return reactor->Finish(ToGrpc(result.status()));
      fill(*result);
      supervisor_.WhenRouted([reactor] { reactor->Finish(grpc::Status::OK); });
    };
  }

  Supervisor& supervisor_;
};

absl::StatusOr<std::string> ReadPem(const std::string& option, const std::string& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream.is_open()) return FromErrno(errno, fmt::format("admin_tls.{}: {}", option, path));
  if (text.str().find("-----BEGIN ") == std::string::npos) {
    return InvalidField(fmt::format("admin_tls.{}", option), "{} is not a PEM file", path);
  }
  return text.str();
}

absl::Status ListenOnTcp(const config::Config& config, grpc::ServerBuilder& builder, int& port) {
  // gRPC would not say why it cannot listen.
  ASSIGN_OR_RETURN(UniqueFd probe, Listen(config.listen.admin_tcp));
  probe.Reset();
  grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  ASSIGN_OR_RETURN(tls.pem_root_certs, ReadPem("client_ca", config.admin_tls.client_ca));
  grpc::SslServerCredentialsOptions::PemKeyCertPair pair;
  ASSIGN_OR_RETURN(pair.private_key, ReadPem("key", config.admin_tls.key));
  ASSIGN_OR_RETURN(pair.cert_chain, ReadPem("certificate", config.admin_tls.certificate));
  tls.pem_key_cert_pairs.push_back(std::move(pair));
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddListeningPort(config.listen.admin_tcp.ToString(), grpc::SslServerCredentials(tls), &port);
  return absl::OkStatus();
}

}  // namespace

struct AdminServer::Impl {
  explicit Impl(Supervisor& supervisor) : service(supervisor) {}
  AdminService service;
  std::unique_ptr<grpc::Server> server;
};

AdminServer::AdminServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AdminServer::~AdminServer() = default;

absl::StatusOr<std::unique_ptr<AdminServer>> AdminServer::Start(Supervisor& supervisor, int listening_fd,
                                                                const config::Config& config) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  auto impl = std::make_unique<Impl>(supervisor);
  grpc::ServerBuilder builder;
  builder.RegisterService(&impl->service);
  int port = 1;  // 0 after the start: gRPC could not listen
  if (config.listen.admin_tcp != Address()) RETURN_IF_ERROR(ListenOnTcp(config, builder, port));
  impl->server = builder.BuildAndStart();
  if (impl->server == nullptr || port == 0) {
    return config.listen.admin_tcp == Address()
               ? Internal("the admin service cannot be started")
               : AtField("listen.admin_tcp",
                         FailedPrecondition("{} cannot be used with {} and {}", config.listen.admin_tcp.ToString(),
                                            config.admin_tls.certificate, config.admin_tls.key));
  }
  impl->server->GetHealthCheckService()->SetServingStatus("inferd.v1.Admin", true);
  const PeerRule rule{.owner = geteuid(),
                      .group = GroupNamed(config.listen.admin_group),
                      .is_worker = [&supervisor](pid_t pid) { return supervisor.IsWorker(pid); },
                      .is_gateway = [&supervisor](pid_t pid) { return supervisor.gateway().Has(pid); }};
  supervisor.loop().WatchReadable(listening_fd, [listening_fd, rule, server = impl->server.get()] {
    UniqueFd connection(accept4(listening_fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) return;
    const absl::StatusOr<Peer> peer = PeerOf(connection.get());
    const absl::Status allowed = peer.ok() ? CheckPeer(*peer, rule) : peer.status();
    if (allowed.ok()) return grpc::AddInsecureChannelFromFd(server, connection.Release());
    LogWarning("admin connection refused", {{"reason", MessageOf(allowed)}});
  });
  return std::unique_ptr<AdminServer>(new AdminServer(std::move(impl)));
}

}  // namespace inferd::daemon
