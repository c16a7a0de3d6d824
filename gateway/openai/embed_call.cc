#include "gateway/openai/embed_call.h"

namespace inferd::gateway {

Task<absl::StatusOr<v1::EmbedResponse>> CallEmbed(const Serving& serving, Exchange& exchange, const std::string& model,
                                                  std::optional<std::chrono::milliseconds> within,
                                                  v1::EmbedRequest& request) {
  request.set_model(model);
  request.set_request_id(exchange.request_id);
  TimePoint deadline = within ? exchange.arrived + *within : TimePoint::max();
  if (within) request.set_deadline_ms(static_cast<uint64_t>(within->count()));
  auto start = [&](WorkerConnection& worker, const std::shared_ptr<grpc::ClientContext>& context,
                   v1::EmbedResponse* response, std::function<void(grpc::Status)> done) {
    exchange.OnClientGone([weak = std::weak_ptr(context)] {
      if (auto alive = weak.lock()) alive->TryCancel();
    });
    worker.inference->async()->Embed(context.get(), &request, response, std::move(done));
  };
  absl::StatusOr<v1::EmbedResponse> answer = co_await CallModel<v1::EmbedResponse>(
      serving.upstream, MakeModelCall(exchange, model, request, deadline), exchange.executor(), start);
  exchange.OnClientGone(nullptr);
  if (answer.ok()) exchange.record.prompt_tokens = answer->usage().prompt_tokens();
  co_return answer;
}

}  // namespace inferd::gateway
