#include "gateway/calls/model_loader.h"

#include <grpcpp/grpcpp.h>

#include "gateway/calls/unary_call.h"
#include "gateway/routing/worker_pool.h"
#include "inferd/v1/admin.grpc.pb.h"

namespace inferd::gateway {
namespace {

constexpr auto kDeadline = std::chrono::seconds(5);

}  // namespace

struct ModelLoader::Stub {
  std::unique_ptr<v1::Admin::Stub> admin;
};

ModelLoader::ModelLoader(const std::string& admin_target)
    : stub_(std::make_unique<Stub>(Stub{v1::Admin::NewStub(MakeChannel(admin_target))})) {}

ModelLoader::~ModelLoader() = default;

Task<absl::Status> ModelLoader::EnsureLoaded(std::string model, Executor executor) {
  v1::EnsureLoadedRequest request;
  request.set_model(model);
  auto start = [&](const std::shared_ptr<grpc::ClientContext>& context, v1::EnsureLoadedResponse* response,
                   std::function<void(grpc::Status)> done) {
    stub_->admin->async()->EnsureLoaded(context.get(), &request, response, std::move(done));
  };
  TimePoint deadline = std::chrono::steady_clock::now() + kDeadline;
  CallResult<v1::EnsureLoadedResponse> result =
      co_await CallWorker<v1::EnsureLoadedResponse>(executor, deadline, "load " + model, start);
  co_return result.end.status;
}

}  // namespace inferd::gateway
