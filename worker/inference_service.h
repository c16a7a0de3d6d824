// The Inference service of one worker. Until the model is ready every call ends with UNAVAILABLE.
//
//   InferenceService service;
//   builder.RegisterService(&service);
//   ... load ...
//   service.SetModel(*model);
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>

#include "inferd/v1/inference.grpc.pb.h"
#include "worker/loaded_model.h"
#include "worker/service_threads.h"

namespace inferd::worker {

class InferenceService : public v1::Inference::CallbackService {
 public:
  // Serves this model from now on; it outlives the service.
  void SetModel(const LoadedModel& model);

  // Waits until the clients of Generate have read their streams to the end or the deadline has passed. Returns how many
  // are left.
  size_t WaitForStreams(MonotonicTime deadline) { return threads_.streams.WaitForNone(deadline); }

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

 private:
  // The model if it is ready and `name` (empty: any) is one of its names. UNAVAILABLE, NOT_FOUND.
  absl::StatusOr<const LoadedModel*> Model(const std::string& name) const;

  std::atomic<const LoadedModel*> model_ = nullptr;
  ServiceThreads threads_;
};

}  // namespace inferd::worker
