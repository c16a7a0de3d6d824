// inferd.v1.Inference on the gateway: each call is admitted as an HTTP request is (key, rate, model), sent to a worker,
// resumed if the worker dies, and logged. Messages come as bytes, so that nothing of them is parsed before the key is
// known to be right.
//
//   InferenceService service(pool, serving, access);
//   builder.RegisterService(&service);
#pragma once

#include "config/base/open_calls.h"
#include "gateway/serving/serving.h"
#include "inferd/v1/inference.grpc.pb.h"

namespace inferd::gateway {

class Access;
class IoPool;

// What the generated code makes of the service where messages are bytes.
template <typename Base>
using RawUnaryMethods = v1::Inference::WithRawCallbackMethod_Validate<v1::Inference::WithRawCallbackMethod_Embed<
    v1::Inference::WithRawCallbackMethod_Tokenize<v1::Inference::WithRawCallbackMethod_Detokenize<
        v1::Inference::WithRawCallbackMethod_ApplyTemplate<v1::Inference::WithRawCallbackMethod_ListModels<Base>>>>>>;
using RawInference = v1::Inference::WithRawCallbackMethod_Generate<RawUnaryMethods<v1::Inference::Service>>;

class InferenceService : public RawInference {
 public:
  InferenceService(IoPool& pool, const Serving& serving, Access& access)
      : pool_(pool), serving_(serving), access_(access) {}

  using Context = grpc::CallbackServerContext;
  using Bytes = grpc::ByteBuffer;

  grpc::ServerWriteReactor<Bytes>* Generate(Context* context, const Bytes* request) override;
  grpc::ServerUnaryReactor* Validate(Context* context, const Bytes* request, Bytes* response) override;
  grpc::ServerUnaryReactor* Embed(Context* context, const Bytes* request, Bytes* response) override;
  grpc::ServerUnaryReactor* Tokenize(Context* context, const Bytes* request, Bytes* response) override;
  grpc::ServerUnaryReactor* Detokenize(Context* context, const Bytes* request, Bytes* response) override;
  grpc::ServerUnaryReactor* ApplyTemplate(Context* context, const Bytes* request, Bytes* response) override;
  grpc::ServerUnaryReactor* ListModels(Context* context, const Bytes* request, Bytes* response) override;

  OpenCalls& calls() { return calls_; }

 private:
  IoPool& pool_;
  const Serving serving_;
  Access& access_;
  OpenCalls calls_;
};

}  // namespace inferd::gateway
