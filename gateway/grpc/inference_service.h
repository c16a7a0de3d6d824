// inferd.v1.Inference on the gateway: each call is admitted as an HTTP request is (key, rate, model), sent to a worker,
// resumed if the worker dies, and logged.
//
//   InferenceService service(pool, serving, access);
//   builder.RegisterService(&service);
#pragma once

#include "config/base/open_calls.h"
#include "gateway/openai/serving.h"
#include "inferd/v1/inference.grpc.pb.h"

namespace inferd::gateway {

class Access;
class IoPool;

class InferenceService : public v1::Inference::CallbackService {
 public:
  InferenceService(IoPool& pool, const Serving& serving, Access& access)
      : pool_(pool), serving_(serving), access_(access) {}

  grpc::ServerWriteReactor<v1::GenerateEvent>* Generate(grpc::CallbackServerContext* context,
                                                        const v1::GenerateRequest* request) override;
  grpc::ServerUnaryReactor* Validate(grpc::CallbackServerContext* context, const v1::GenerateRequest* request,
                                     v1::ValidateResponse* response) override;
  grpc::ServerUnaryReactor* Embed(grpc::CallbackServerContext* context, const v1::EmbedRequest* request,
                                  v1::EmbedResponse* response) override;
  grpc::ServerUnaryReactor* Tokenize(grpc::CallbackServerContext* context, const v1::TokenizeRequest* request,
                                     v1::TokenizeResponse* response) override;
  grpc::ServerUnaryReactor* Detokenize(grpc::CallbackServerContext* context, const v1::DetokenizeRequest* request,
                                       v1::DetokenizeResponse* response) override;
  grpc::ServerUnaryReactor* ApplyTemplate(grpc::CallbackServerContext* context, const v1::ApplyTemplateRequest* request,
                                          v1::ApplyTemplateResponse* response) override;
  grpc::ServerUnaryReactor* ListModels(grpc::CallbackServerContext* context, const v1::ListModelsRequest* request,
                                       v1::ListModelsResponse* response) override;

  OpenCalls& calls() { return calls_; }

 private:
  IoPool& pool_;
  const Serving serving_;
  Access& access_;
  OpenCalls calls_;
};

}  // namespace inferd::gateway
