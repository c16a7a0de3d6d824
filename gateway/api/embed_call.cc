#include "gateway/api/embed_call.h"

#include "config/base/status.h"
#include "gateway/api/field_names.h"

namespace inferd::gateway {

Task<absl::StatusOr<v1::EmbedResponse>> CallEmbed(const Serving& serving, Exchange& exchange, EmbedFields& request,
                                                  std::string_view inputs_name) {
  absl::StatusOr<std::string> model = ResolveModel(serving, exchange, request.model);
  if (!model.ok()) co_return model.status();
  request.model = *std::move(model);
  v1::EmbedRequest& embed = request.embed;
  embed.set_model(request.model);
  embed.set_request_id(exchange.request_id);
  TimePoint deadline = request.deadline ? exchange.arrived + *request.deadline : TimePoint::max();
  if (request.deadline) embed.set_deadline_ms(static_cast<uint64_t>(request.deadline->count()));
  auto start = [&](WorkerConnection& worker, const std::shared_ptr<grpc::ClientContext>& context,
                   v1::EmbedResponse* response, std::function<void(grpc::Status)> done) {
    exchange.OnClientGone([weak = std::weak_ptr(context)] {
      if (auto alive = weak.lock()) alive->TryCancel();
    });
    worker.inference->async()->Embed(context.get(), &embed, response, std::move(done));
  };
  absl::StatusOr<v1::EmbedResponse> answer = co_await CallModel<v1::EmbedResponse>(
      serving.upstream, MakeModelCall(exchange, request.model, embed, deadline), exchange.executor(), start);
  exchange.OnClientGone(nullptr);
  if (!answer.ok()) {
    const FieldName names[] = {{"inputs", inputs_name}};
    co_return WithFieldNames(answer.status(), names);
  }
  exchange.record.prompt_tokens = answer->usage().prompt_tokens();
  co_return answer;
}

}  // namespace inferd::gateway
