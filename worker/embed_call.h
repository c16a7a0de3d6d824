// One call of Embed, from the texts to their vectors.
//
//   return EmbedCall::Start(model, threads, context, request, response);
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>

#include "absl/status/statusor.h"
#include "engine/generation/embedder.h"
#include "inferd/v1/inference.pb.h"
#include "worker/loaded_model.h"
#include "worker/ranking_prompt.h"
#include "worker/service_threads.h"
#include "worker/unary_call.h"

namespace inferd::worker {

class EmbedCall : public UnaryCall {
 public:
  // gRPC owns the call until it is done; `model`, `context`, `request` and `response` outlive it.
  static grpc::ServerUnaryReactor* Start(const LoadedModel& model, ServiceThreads& threads,
                                         grpc::CallbackServerContext& context, const v1::EmbedRequest& request,
                                         v1::EmbedResponse& response);

 private:
  EmbedCall(const LoadedModel& model, const ServiceThreads& threads, grpc::CallbackServerContext& context,
            const v1::EmbedRequest& request, v1::EmbedResponse& response)
      : UnaryCall(context), model_(model), threads_(threads), request_(request), response_(response) {}

  // Whether the engine would compute what it is given now at once.
  bool HasItsTurn() const;
  absl::Status Submit();
  absl::Status ReadInputs(engine::EmbeddingRequest& request);
  absl::StatusOr<std::vector<int32_t>> ReadInput(int index) const;
  absl::StatusOr<RankingTokens> ReadDocument(int index) const;  // the query and this input
  absl::Status Answer(absl::StatusOr<engine::Vectors> vectors);
  void End(const absl::Status& status);
  void OnCancel() override { *cancelled_ = true; }

  const LoadedModel& model_;
  const ServiceThreads& threads_;
  const v1::EmbedRequest& request_;
  v1::EmbedResponse& response_;
  const MonotonicTime arrival_ = Clock::System().Now();
  uint32_t prompt_tokens_ = 0;
  std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
};

// Leading components of a vector (0: all), scaled to Euclidean length 1 if `normalize` (a zero vector stays).
void FinishVector(std::vector<float>& vector, size_t dimensions, bool normalize);

// What a ranking score says on a scale of 0..1: the logistic function.
float Probability(float score);

}  // namespace inferd::worker
