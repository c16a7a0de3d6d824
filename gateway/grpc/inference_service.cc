#include "gateway/grpc/inference_service.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <vector>

#include "gateway/auth/access.h"
#include "gateway/grpc/generate_reactor.h"
#include "gateway/grpc/grpc_request.h"
#include "gateway/http/io_pool.h"
#include "gateway/openai/model_info.h"
#include "gateway/routing/route_table.h"

namespace inferd::gateway {
namespace {

// A unary call in progress; lives in the coroutine that runs it. gRPC keeps context, request and response until Finish.
template <typename Request, typename Response>
struct Unary {
  Unary(grpc::CallbackServerContext& with, const Serving& serving, const std::string& method, const std::string& id,
        const Request& from, Response& to, OpenCalls& all)
      : context(with),
        call(with, serving, method, id, from.ByteSizeLong()),
        request(from),
        response(to),
        reactor(with.DefaultReactor()),
        calls(all) {
    calls.Enter();
  }
  grpc::CallbackServerContext& context;
  GrpcRequest call;
  Request request;
  Response& response;
  grpc::ServerUnaryReactor* reactor;
  OpenCalls& calls;
};

// Admits the call, sends it to a worker by `start(stub, context, request, response, done)` and finishes it.
template <typename Request, typename Response, typename StartFunction>
Task<void> RunUnary(std::unique_ptr<Unary<Request, Response>> unary, Serving serving, Access& access, Executor executor,
                    StartFunction start) {
  absl::StatusOr<std::string> model = unary->call.Admit(access, unary->request.model());
  absl::Status status = model.status();
  if (model.ok()) {
    unary->request.set_model(*model);
    ModelCall call = unary->call.MakeCall(*model, "");
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
  unary->reactor->Finish(unary->call.End(status));
  unary->calls.Leave();
}

Task<void> RunListModels(std::unique_ptr<Unary<v1::ListModelsRequest, v1::ListModelsResponse>> unary, Serving serving,
                         Access& access, Executor executor) {
  absl::Status status = unary->call.AdmitWithoutModel(access);
  if (status.ok()) {
    std::shared_ptr<const RouteTable> table = serving.upstream.routes.Current();
    std::vector<const ModelRoute*> routes;
    for (const ModelRoute& route : table->models()) {
      if (unary->call.MaySee(route.model)) routes.push_back(&route);
    }
    std::vector<v1::ModelInfo> infos =
        co_await AskForModelInfos(serving.upstream, std::move(routes), unary->call.id(), executor);
    for (v1::ModelInfo& info : infos) *unary->response.add_models() = std::move(info);
  }
  unary->reactor->Finish(unary->call.End(status));
  unary->calls.Leave();
}

// Starts RunUnary on a loop of the pool.
template <typename Request, typename Response, typename StartFunction>
grpc::ServerUnaryReactor* StartUnary(IoPool& pool, const Serving& serving, Access& access, OpenCalls& calls,
                                     grpc::CallbackServerContext& context, const std::string& method,
                                     const std::string& id, const Request& request, Response& response,
                                     StartFunction start) {
  auto unary = std::make_unique<Unary<Request, Response>>(context, serving, method, id, request, response, calls);
  grpc::ServerUnaryReactor* reactor = unary->reactor;
  Executor executor = pool.Next();
  boost::asio::co_spawn(executor, RunUnary(std::move(unary), serving, access, executor, start), boost::asio::detached);
  return reactor;
}

}  // namespace

grpc::ServerWriteReactor<v1::GenerateEvent>* InferenceService::Generate(grpc::CallbackServerContext* context,
                                                                        const v1::GenerateRequest* request) {
  return GenerateReactor::Start(pool_.Next(), serving_, access_, *context, *request, calls_);
}

grpc::ServerUnaryReactor* InferenceService::Validate(grpc::CallbackServerContext* context,
                                                     const v1::GenerateRequest* request,
                                                     v1::ValidateResponse* response) {
  return StartUnary(pool_, serving_, access_, calls_, *context, "Validate", request->request_id(), *request, *response,
                    [](v1::Inference::Stub& stub, auto* client_context, auto* from, auto* to, auto done) {
                      stub.async()->Validate(client_context, from, to, std::move(done));
                    });
}

grpc::ServerUnaryReactor* InferenceService::Embed(grpc::CallbackServerContext* context, const v1::EmbedRequest* request,
                                                  v1::EmbedResponse* response) {
  return StartUnary(pool_, serving_, access_, calls_, *context, "Embed", request->request_id(), *request, *response,
                    [](v1::Inference::Stub& stub, auto* client_context, auto* from, auto* to, auto done) {
                      stub.async()->Embed(client_context, from, to, std::move(done));
                    });
}

grpc::ServerUnaryReactor* InferenceService::Tokenize(grpc::CallbackServerContext* context,
                                                     const v1::TokenizeRequest* request,
                                                     v1::TokenizeResponse* response) {
  return StartUnary(pool_, serving_, access_, calls_, *context, "Tokenize", "", *request, *response,
                    [](v1::Inference::Stub& stub, auto* client_context, auto* from, auto* to, auto done) {
                      stub.async()->Tokenize(client_context, from, to, std::move(done));
                    });
}

grpc::ServerUnaryReactor* InferenceService::Detokenize(grpc::CallbackServerContext* context,
                                                       const v1::DetokenizeRequest* request,
                                                       v1::DetokenizeResponse* response) {
  return StartUnary(pool_, serving_, access_, calls_, *context, "Detokenize", "", *request, *response,
                    [](v1::Inference::Stub& stub, auto* client_context, auto* from, auto* to, auto done) {
                      stub.async()->Detokenize(client_context, from, to, std::move(done));
                    });
}

grpc::ServerUnaryReactor* InferenceService::ApplyTemplate(grpc::CallbackServerContext* context,
                                                          const v1::ApplyTemplateRequest* request,
                                                          v1::ApplyTemplateResponse* response) {
  return StartUnary(pool_, serving_, access_, calls_, *context, "ApplyTemplate", "", *request, *response,
                    [](v1::Inference::Stub& stub, auto* client_context, auto* from, auto* to, auto done) {
                      stub.async()->ApplyTemplate(client_context, from, to, std::move(done));
                    });
}

grpc::ServerUnaryReactor* InferenceService::ListModels(grpc::CallbackServerContext* context,
                                                       const v1::ListModelsRequest* request,
                                                       v1::ListModelsResponse* response) {
  auto unary = std::make_unique<Unary<v1::ListModelsRequest, v1::ListModelsResponse>>(*context, serving_, "ListModels",
                                                                                      "", *request, *response, calls_);
  grpc::ServerUnaryReactor* reactor = unary->reactor;
  Executor executor = pool_.Next();
  boost::asio::co_spawn(executor, RunListModels(std::move(unary), serving_, access_, executor), boost::asio::detached);
  return reactor;
}

}  // namespace inferd::gateway
