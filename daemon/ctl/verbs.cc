#include "daemon/ctl/verbs.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "config/base/address.h"
#include "config/base/child_process.h"
#include "config/base/print.h"
#include "config/base/status.h"
#include "config/units.h"
#include "daemon/ctl/chat.h"
#include "daemon/ctl/progress.h"
#include "daemon/ctl/status_view.h"
#include "inferd/v1/admin.grpc.pb.h"
#include "inferd/v1/inference.grpc.pb.h"

namespace inferd::daemon {

grpc::Status Top(v1::Admin::Stub& admin, uint64_t rounds, int interrupts);  // top.cc

namespace {

constexpr std::chrono::seconds kQuickDeadline{10};

void SetQuickDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + kQuickDeadline);
}

void PrintPlan(const v1::MemoryPlan& plan) {
  if (!plan.explanation().empty()) {
    Print("{}{}\n", Printable(plan.explanation()), plan.fits() ? "" : ": does not fit");
  }
}

// How the public port is reached from this host.
std::string PublicTarget(const v1::StatusResponse& status) {
  const absl::StatusOr<Address> address = ParseAddress(status.grpc_address());
  return address.ok() ? address->Local().ToString() : status.grpc_address();
}

std::string DefaultModel(const v1::StatusResponse& status) {
  std::string first;
  for (const v1::WorkerStatus& worker : status.workers()) {
    const auto& aliases = worker.aliases();
    if (worker.model() == "default" || std::find(aliases.begin(), aliases.end(), "default") != aliases.end()) {
      return worker.model();
    }
    if (first.empty() && worker.state() == "READY") first = worker.model();
  }
  return first;
}

}  // namespace

struct AdminClient::Impl {
  std::string address;
  std::unique_ptr<v1::Admin::Stub> stub;

  // Says what went wrong; kExitDone for OK.
  int ExitCode(const grpc::Status& status) const {
    if (status.ok()) return kExitDone;
    std::string message = status.error_message();
    if (message.empty()) message = fmt::format("gRPC status {}", static_cast<int>(status.error_code()));
    // An inferd that ends, or whose gateway does, is UNAVAILABLE too.
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE && message.find("failed to connect") == 0) {
      message =
          fmt::format("no inferd answers at {} (is it running? --admin or --config say where): {}", address, message);
    }
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
      message = fmt::format("inferd at {} does not answer in time: {}", address, message);
    }
    PrintError("inferctl", message);
    return status.error_code() == grpc::StatusCode::INVALID_ARGUMENT ? kExitUsage : kExitFailed;
  }

  grpc::Status GetStatus(v1::StatusResponse& response) const {
    grpc::ClientContext context;
    SetQuickDeadline(context);
    return stub->Status(&context, {}, &response);
  }

  // The call, which may take its time; nothing happens in a dry run.
  grpc::Status Watched(const std::string& model, bool dry_run, const std::function<grpc::Status()>& call) const {
    return dry_run ? call() : WithProgress(*stub, model, call);
  }

  std::shared_ptr<grpc::Channel> PublicChannel(const v1::StatusResponse& status) const {
    return grpc::CreateChannel(PublicTarget(status), grpc::InsecureChannelCredentials());
  }
};

AdminClient::AdminClient(std::string address, const AdminCertificates& certificates) : impl_(std::make_unique<Impl>()) {
  const auto credentials = certificates.ca.empty() ? grpc::InsecureChannelCredentials()
                                                   : grpc::SslCredentials({.pem_root_certs = certificates.ca,
                                                                           .pem_private_key = certificates.key,
                                                                           .pem_cert_chain = certificates.certificate});
  impl_->stub = v1::Admin::NewStub(grpc::CreateChannel(address, credentials));
  impl_->address = std::move(address);
}
AdminClient::~AdminClient() = default;

int AdminClient::Status(bool as_json) const {
  v1::StatusResponse response;
  const grpc::Status status = impl_->GetStatus(response);
  if (status.ok())
    Print("{}", as_json ? StatusJson(response) : StatusTable(response, std::chrono::system_clock::now()));
  return impl_->ExitCode(status);
}

int AdminClient::Models(bool as_json) const {
  v1::StatusResponse daemon;
  if (const grpc::Status status = impl_->GetStatus(daemon); !status.ok()) return impl_->ExitCode(status);
  grpc::ClientContext context;
  SetQuickDeadline(context);
  v1::ListModelsResponse models;
  const auto inference = v1::Inference::NewStub(impl_->PublicChannel(daemon));
  const grpc::Status status = inference->ListModels(&context, {}, &models);
  if (status.ok()) Print("{}", as_json ? ModelsJson(models) : ModelsTable(models));
  return impl_->ExitCode(status);
}

int AdminClient::Chat(ChatOptions options, const std::string& message, int interrupts) const {
  v1::StatusResponse daemon;
  if (const grpc::Status status = impl_->GetStatus(daemon); !status.ok()) return impl_->ExitCode(status);
  if (options.model.empty()) options.model = DefaultModel(daemon);
  if (options.model.empty()) {
    PrintError("inferctl", "no model is ready; `inferctl status` says why");
    return kExitFailed;
  }
  // A single answer is for scripts and first looks: the same each time.
  if (!options.temperature) options.temperature = message.empty() ? 0.7 : 0.0;
  const auto channel = impl_->PublicChannel(daemon);
  return message.empty() ? RunChat(channel, options, interrupts) : AskOnce(channel, options, message, interrupts);
}

int AdminClient::Reload(bool dry_run) const {
  grpc::ClientContext context;
  v1::ReloadRequest request;
  v1::ReloadResponse response;
  request.set_dry_run(dry_run);
  const grpc::Status status =
      impl_->Watched("", dry_run, [&] { return impl_->stub->Reload(&context, request, &response); });
  for (const std::string& change : response.changes()) Print("{}\n", Printable(change));
  if (status.ok() && response.changes().empty()) Print("nothing has changed\n");
  return impl_->ExitCode(status);
}

int AdminClient::Load(const std::string& model, const std::string& path, bool dry_run) const {
  grpc::ClientContext context;
  v1::LoadRequest request;
  v1::LoadResponse response;
  request.set_model(model);
  request.set_path(path);
  request.set_dry_run(dry_run);
  const grpc::Status status =
      impl_->Watched(model, dry_run, [&] { return impl_->stub->Load(&context, request, &response); });
  PrintPlan(response.plan());
  if (status.ok() && !dry_run) {
    Print("{}@{} is ready ({})\n", model, response.worker().version(), response.worker().fingerprint());
  }
  return impl_->ExitCode(status);
}

int AdminClient::Unload(const std::string& model, uint64_t version, uint64_t drain_ms) const {
  grpc::ClientContext context;
  v1::UnloadRequest request;
  v1::UnloadResponse response;
  request.set_model(model);
  request.set_version(version);
  request.set_drain_ms(drain_ms);
  const grpc::Status status =
      impl_->Watched(model, false, [&] { return impl_->stub->Unload(&context, request, &response); });
  const std::string what = version == 0 ? model : fmt::format("{}@{}", model, version);
  if (status.ok()) Print("{} is unloaded, {} requests did not end in time\n", what, response.unfinished());
  return impl_->ExitCode(status);
}

int AdminClient::Swap(const std::string& model, const std::string& path, bool allow_tokenizer_change, bool dry_run,
                      uint64_t drain_ms) const {
  grpc::ClientContext context;
  v1::SwapRequest request;
  v1::SwapResponse response;
  request.set_model(model);
  request.set_path(path);
  request.set_allow_tokenizer_change(allow_tokenizer_change);
  request.set_dry_run(dry_run);
  request.set_drain_ms(drain_ms);
  const grpc::Status status =
      impl_->Watched(model, dry_run, [&] { return impl_->stub->Swap(&context, request, &response); });
  PrintPlan(response.plan());
  if (status.ok() && !dry_run) {
    Print("{}@{} serves ({}), {}@{} finishes its requests\n", model, response.new_version(), response.fingerprint(),
          model, response.old_version());
  }
  return impl_->ExitCode(status);
}

int AdminClient::Traffic(const std::string& model, const std::vector<std::string>& weights,
                         const std::string& rollback_on, uint64_t window_ms) const {
  grpc::ClientContext context;
  SetQuickDeadline(context);
  v1::SetTrafficRequest request;
  v1::SetTrafficResponse response;
  request.set_model(model);
  request.set_rollback_on(rollback_on);
  request.set_window_ms(window_ms);
  for (const std::string& word : weights) {
    const size_t equals = word.find('=');
    const auto version = config::ParseWholeNumber(std::string_view(word).substr(0, equals));
    const auto weight = config::ParseWholeNumber(equals == word.npos ? "" : std::string_view(word).substr(equals + 1));
    if (!version.ok() || !weight.ok() || *weight > 100) {
      PrintError("inferctl", fmt::format("\"{}\" is not VERSION=WEIGHT with a weight of 0..100", word));
      return kExitUsage;
    }
    if (request.weights().contains(*version)) {
      PrintError("inferctl", fmt::format("\"{}\": version {} has a weight already", word, *version));
      return kExitUsage;
    }
    (*request.mutable_weights())[*version] = static_cast<uint32_t>(*weight);
  }
  const grpc::Status status = impl_->stub->SetTraffic(&context, request, &response);
  if (status.ok()) Print("routes are at revision {}\n", response.route_revision());
  if (status.ok() && !rollback_on.empty()) Print("taken back when {}; `inferctl status` shows it\n", rollback_on);
  return impl_->ExitCode(status);
}

int AdminClient::Drain(const std::string& model, uint64_t deadline_ms) const {
  grpc::ClientContext context;
  v1::DrainRequest request;
  v1::DrainResponse response;
  request.set_model(model);
  request.set_deadline_ms(deadline_ms);
  const grpc::Status status =
      impl_->Watched(model, false, [&] { return impl_->stub->Drain(&context, request, &response); });
  if (status.ok()) Print("drained, {} requests did not end in time\n", response.unfinished());
  return impl_->ExitCode(status);
}

int AdminClient::RestartGateway() const {
  grpc::ClientContext context;
  v1::RestartGatewayResponse response;
  const grpc::Status status = impl_->stub->RestartGateway(&context, {}, &response);
  if (status.ok()) Print("a new gateway serves (pid {}), the old one finishes its requests\n", response.pid());
  return impl_->ExitCode(status);
}

int AdminClient::Top(uint64_t rounds, int interrupts) const {
  return impl_->ExitCode(daemon::Top(*impl_->stub, rounds, interrupts));
}

}  // namespace inferd::daemon
