// A worker without an engine, for tests of the gateway: the prompt says what it does.
//
//   "tokens=5 delay_us=1000"     five tokens "w0 ", "w1 ", ... with a pause before each
//   "tick_us=10000"              a token at each multiple of that time, as all calls with it
//   "die_at=3"                   kills its own process instead of sending token 3
//   "think=2"                    the first two tokens are reasoning
//   "call=get_weather"           ends with a tool call of that name
//   "refuse=8 field=stop"        ends at once with that gRPC code, about a field;  "fail_at=3 fail=13" in mid-stream
//   "queued=1"                   waits, having said so, where the process was started to hold such requests;
//   "queued=unread":
//                                without having begun, as where others' prompts are read first
//   "die_reading=1"              kills its own process when it has said that it has begun
//   "most=2"                     refuses with RESOURCE_EXHAUSTED while so many run
//   "fail_choice=3"              ends a choice with an error of that gRPC code
//
// The same prompt always gives the same tokens, and a resumed call goes on after the tokens it names.
#pragma once

#include <atomic>
#include <string>

#include "inferd/v1/inference.grpc.pb.h"
#include "inferd/v1/worker.grpc.pb.h"

namespace inferd::gateway {

struct StubOptions {
  std::string model = "chat";
  uint64_t version = 1;
  std::string fingerprint = "fp_0123456789abcdef";
  // Keeps "queued" calls for ever.
  bool holds_queue = false;
  // Ends every call before this token as a worker does whose drain is over; negative: none.
  int withdraw_at = -1;
};

class StubInference : public v1::Inference::WithCallbackMethod_Embed<v1::Inference::Service> {
 public:
  explicit StubInference(StubOptions options) : options_(std::move(options)) {}

  grpc::Status Generate(grpc::ServerContext* context, const v1::GenerateRequest* request,
                        grpc::ServerWriter<v1::GenerateEvent>* writer) override;
  // Refuses what Generate would.
  grpc::Status Validate(grpc::ServerContext* context, const v1::GenerateRequest* request,
                        v1::ValidateResponse* response) override;
  // Of the first text alone: "queued=1" (without having begun) and "die_reading=1"; with both it dies where such
  // requests are not held.
  grpc::ServerUnaryReactor* Embed(grpc::CallbackServerContext* context, const v1::EmbedRequest* request,
                                  v1::EmbedResponse* response) override;
  // One token for each byte.
  grpc::Status Tokenize(grpc::ServerContext* context, const v1::TokenizeRequest* request,
                        v1::TokenizeResponse* response) override;
  grpc::Status Detokenize(grpc::ServerContext* context, const v1::DetokenizeRequest* request,
                          v1::DetokenizeResponse* response) override;
  // "role: content" lines.
  grpc::Status ApplyTemplate(grpc::ServerContext* context, const v1::ApplyTemplateRequest* request,
                             v1::ApplyTemplateResponse* response) override;
  grpc::Status ListModels(grpc::ServerContext* context, const v1::ListModelsRequest* request,
                          v1::ListModelsResponse* response) override;

  // ListModels answers its first calls when so many have come.
  void set_together(int calls) { together_ = calls; }

  // Calls of Generate that ended because the client cancelled.
  int cancelled() const { return cancelled_; }
  int running() const { return running_; }
  int waiting() const { return waiting_; }

 private:
  const StubOptions options_;
  int together_ = 0;
  std::atomic<int> listed_{0};
  std::atomic<int> cancelled_{0};
  std::atomic<int> running_{0};
  std::atomic<int> waiting_{0};
};

class StubWorker : public v1::Worker::Service {
 public:
  StubWorker(const StubInference& inference, std::string model) : inference_(inference), model_(std::move(model)) {}
  grpc::Status Stats(grpc::ServerContext* context, const v1::StatsRequest* request,
                     v1::StatsResponse* response) override;

 private:
  const StubInference& inference_;
  const std::string model_;
};

}  // namespace inferd::gateway
