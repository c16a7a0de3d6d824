#include "gateway/grpc/inference_service.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <vector>

#include "config/base/status.h"
#include "gateway/async/io_pool.h"
#include "gateway/auth/access.h"
#include "gateway/grpc/generate_reactor.h"
#include "gateway/grpc/grpc_request.h"
#include "gateway/grpc/raw_message.h"
#include "gateway/routing/route_table.h"
#include "gateway/routing/routes.h"
#include "gateway/serving/model_info.h"

namespace inferd::gateway {
namespace {

// A unary call in progress; lives in the coroutine that runs it. gRPC keeps context and response until Finish.
template <typename RequestType, typename ResponseType>
struct Unary {
  using Request = RequestType;
  using Response = ResponseType;

  Unary(grpc::CallbackServerContext& with, const Serving& serving, const std::string& method,
        const grpc::ByteBuffer& message, grpc::ByteBuffer& to, OpenCalls& all)
      : context(with),
        call(with, serving, method),
        bytes(message),
        answer(to),
        reactor(with.DefaultReactor()),
        calls(all) {
    calls.Enter();
  }
  // Checks the key and parses the message.
  absl::Status Admit(Access& access) {
    RETURN_IF_ERROR(call.Admit(access, bytes, request));
    bytes.Clear();
    return absl::OkStatus();
  }
  void End(const absl::Status& status) {
    if (status.ok()) answer = SerializeMessage(response);
    reactor->Finish(call.End(status));
    calls.Leave();
  }

  grpc::CallbackServerContext& context;
  GrpcRequest call;
  grpc::ByteBuffer bytes;
  Request request;
  Response response;
  grpc::ByteBuffer& answer;
  grpc::ServerUnaryReactor* reactor;
  OpenCalls& calls;
};

// Checks the call; its message names the model that it is for from now on.
template <typename Call>
absl::Status Prepare(Call& unary, Access& access) {
  RETURN_IF_ERROR(unary.Admit(access));
  if constexpr (requires { unary.request.request_id(); }) unary.call.OfferId(unary.request.request_id());
  ASSIGN_OR_RETURN(*unary.request.mutable_model(), unary.call.Resolve(unary.request.model()));
  return absl::OkStatus();
}

// Sends the call to a worker by `start(stub, context, request, response, done)` and finishes it.
template <typename Call, typename StartFunction>
Task<void> RunUnary(std::unique_ptr<Call> unary, Serving serving, Access& access, Executor executor,
                    StartFunction start) {
  using Response = typename Call::Response;
  absl::Status status = Prepare(*unary, access);
  if (status.ok()) {
    ModelCall call = unary->call.MakeCall(unary->request.model(), "");
    call.request = &unary->request;
    call.parent = &unary->context;
    auto start_there = [&](WorkerConnection& worker, const std::shared_ptr<grpc::ClientContext>& context,
                           Response* response, std::function<void(grpc::Status)> done) {
      start(*worker.inference, context.get(), &unary->request, response, std::move(done));
    };
    absl::StatusOr<Response> answer =
        co_await CallModel<Response>(serving.upstream, std::move(call), executor, start_there);
    status = answer.status();
    if (answer.ok()) unary->response = *std::move(answer);
  }
  unary->End(status);
}

Task<void> RunListModels(std::unique_ptr<Unary<v1::ListModelsRequest, v1::ListModelsResponse>> unary, Serving serving,
                         Access& access, Executor executor) {
  absl::Status status = unary->Admit(access);
  if (status.ok()) {
    std::shared_ptr<const RouteTable> table = serving.upstream.routes.Current();
    const ServedRequest& served = unary->call.served();
    std::vector<v1::ModelInfo> infos =
        co_await AskForModelInfos(serving.upstream, VisibleModels(*table, served), served.request_id, executor);
    for (v1::ModelInfo& info : infos) *unary->response.add_models() = std::move(info);
  }
  unary->End(status);
}

// Starts RunUnary on a loop of the pool.
template <typename Request, typename Response, typename StartFunction>
grpc::ServerUnaryReactor* StartUnary(IoPool& pool, const Serving& serving, Access& access, OpenCalls& calls,
                                     grpc::CallbackServerContext& context, const std::string& method,
                                     const grpc::ByteBuffer& bytes, grpc::ByteBuffer& answer, StartFunction start) {
  auto unary = std::make_unique<Unary<Request, Response>>(context, serving, method, bytes, answer, calls);
  grpc::ServerUnaryReactor* reactor = unary->reactor;
  Executor executor = pool.Next();
  boost::asio::co_spawn(executor, RunUnary(std::move(unary), serving, access, executor, start), boost::asio::detached);
  return reactor;
}

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* InferenceService::Generate(Context* context, const Bytes* request) {
  return GenerateReactor::Start(pool_.Next(), serving_, access_, *context, *request, calls_);
}

grpc::ServerUnaryReactor* InferenceService::Validate(Context* context, const Bytes* request, Bytes* response) {
  return StartUnary<v1::GenerateRequest, v1::ValidateResponse>(
      pool_, serving_, access_, calls_, *context, "Validate", *request, *response,
      [](v1::Inference::Stub& stub, auto* client_context, auto* from, auto* to, auto done) {
        stub.async()->Validate(client_context, from, to, std::move(done));
      });
}

grpc::ServerUnaryReactor* InferenceService::Embed(Context* context, const Bytes* request, Bytes* response) {
  return StartUnary<v1::EmbedRequest, v1::EmbedResponse>(
      pool_, serving_, access_, calls_, *context, "Embed", *request, *response,
      [](v1::Inference::Stub& stub, auto* client_context, auto* from, auto* to, auto done) {
        stub.async()->Embed(client_context, from, to, std::move(done));
      });
}

grpc::ServerUnaryReactor* InferenceService::Tokenize(Context* context, const Bytes* request, Bytes* response) {
  return StartUnary<v1::TokenizeRequest, v1::TokenizeResponse>(
      pool_, serving_, access_, calls_, *context, "Tokenize", *request, *response,
      [](v1::Inference::Stub& stub, auto* client_context, auto* from, auto* to, auto done) {
        stub.async()->Tokenize(client_context, from, to, std::move(done));
      });
}

grpc::ServerUnaryReactor* InferenceService::Detokenize(Context* context, const Bytes* request, Bytes* response) {
  return StartUnary<v1::DetokenizeRequest, v1::DetokenizeResponse>(
      pool_, serving_, access_, calls_, *context, "Detokenize", *request, *response,
      [](v1::Inference::Stub& stub, auto* client_context, auto* from, auto* to, auto done) {
        stub.async()->Detokenize(client_context, from, to, std::move(done));
      });
}

grpc::ServerUnaryReactor* InferenceService::ApplyTemplate(Context* context, const Bytes* request, Bytes* response) {
  return StartUnary<v1::ApplyTemplateRequest, v1::ApplyTemplateResponse>(
      pool_, serving_, access_, calls_, *context, "ApplyTemplate", *request, *response,
      [](v1::Inference::Stub& stub, auto* client_context, auto* from, auto* to, auto done) {
        stub.async()->ApplyTemplate(client_context, from, to, std::move(done));
      });
}

grpc::ServerUnaryReactor* InferenceService::ListModels(Context* context, const Bytes* request, Bytes* response) {
  auto unary = std::make_unique<Unary<v1::ListModelsRequest, v1::ListModelsResponse>>(*context, serving_, "ListModels",
                                                                                      *request, *response, calls_);
  grpc::ServerUnaryReactor* reactor = unary->reactor;
  Executor executor = pool_.Next();
  boost::asio::co_spawn(executor, RunListModels(std::move(unary), serving_, access_, executor), boost::asio::detached);
  return reactor;
}

}  // namespace inferd::gateway
