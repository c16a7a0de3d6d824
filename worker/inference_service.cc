// Generate is in generate_stream.cc, Embed in embed_call.cc.
#include "worker/inference_service.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <utility>

#include "config/base/status.h"
#include "worker/embed_call.h"
#include "worker/fill_warnings.h"
#include "worker/generate_stream.h"
#include "worker/grpc_status.h"
#include "worker/model_info.h"
#include "worker/prepared_request.h"
#include "worker/prompt.h"
#include "worker/request_memory.h"
#include "worker/unary_call.h"

namespace inferd::worker {
namespace {

constexpr int kMostTokens = 1 << 22;

grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpc(status, *context));
  return reactor;
}

// Of work on a thread where it may take its time.
grpc::ServerUnaryReactor* AnswerLater(ServiceThreads& threads, grpc::CallbackServerContext* context, size_t bytes,
                                      std::function<absl::Status()> work) {
  auto* call = new UnaryCall(*context);
  const absl::Status taken = threads.preparation.Run(bytes, [call, context, &threads, work = std::move(work)] {
    call->TellBegun();
    call->WaitUntilTold();
    call->Finish(ToGrpc(threads.memory->Within(work), *context));
  });
  if (!taken.ok()) call->Finish(ToGrpc(taken, *context));
  return call;
}

// A call that fails before it has begun.
class FailedStream : public grpc::ServerWriteReactor<v1::GenerateEvent> {
 public:
  explicit FailedStream(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

absl::Status TokenizeText(const LoadedModel& model, const v1::TokenizeRequest& request,
                          v1::TokenizeResponse& response) {
  ASSIGN_OR_RETURN(const std::vector<int32_t> ids,
                   EncodeText(model, "text", request.text(), request.add_special(), request.parse_special()));
  response.mutable_ids()->Add(ids.begin(), ids.end());
  if (!request.with_pieces()) return absl::OkStatus();
  for (int32_t id : ids) response.add_pieces(model.tokenizer->TokenBytes(id, /*with_special=*/true));
  return absl::OkStatus();
}

absl::Status DetokenizeIds(const LoadedModel& model, const v1::DetokenizeRequest& request,
                           v1::DetokenizeResponse& response) {
  if (request.ids_size() > kMostTokens) {
    return InvalidField("ids", "{} ids, expected at most {}", request.ids_size(), kMostTokens);
  }
  for (int i = 0; i < request.ids_size(); ++i) {
    if (request.ids(i) < 0 || request.ids(i) >= model.tokenizer->vocabulary_size()) {
      return InvalidField("ids", "id {} at index {} is not in the vocabulary of {} tokens", request.ids(i), i,
                          model.tokenizer->vocabulary_size());
    }
  }
  response.set_text(
      model.tokenizer->Decode({request.ids().data(), static_cast<size_t>(request.ids_size())}, request.with_special()));
  return absl::OkStatus();
}

absl::Status RenderTemplate(const LoadedModel& model, const v1::ApplyTemplateRequest& request,
                            v1::ApplyTemplateResponse& response) {
  ASSIGN_OR_RETURN(const std::tm now, LocalTime(Clock::System().WallNow()));
  ASSIGN_OR_RETURN(const RenderedChat rendered, RenderChat(model, request.chat(), now));
  response.set_text(rendered.prompt.Text());
  FillWarnings(rendered.warnings, *response.mutable_warnings());
  return absl::OkStatus();
}

absl::Status ValidateRequest(const LoadedModel& model, const v1::GenerateRequest& request,
                             v1::ValidateResponse& response) {
  const PreparationTimes times{.rendered_unix_seconds = RenderTime(request, Clock::System().WallNow()),
                               .arrival = Clock::System().Now()};
  ASSIGN_OR_RETURN(const PreparedRequest prepared, PrepareRequest(model, request, times));
  response.set_prompt_tokens(static_cast<uint32_t>(prepared.request.prompt.size()));
  FillWarnings(prepared.warnings, *response.mutable_warnings());
  return absl::OkStatus();
}

}  // namespace

void InferenceService::SetModel(const LoadedModel& model) {
  threads_.memory =
      std::make_unique<const RequestMemory>(model.options.memory_limit, ServiceThreads::kPreparationThreads);
  model_ = &model;
}

absl::StatusOr<const LoadedModel*> InferenceService::Model(const std::string& name) const {
  const LoadedModel* model = model_;
  if (model == nullptr) return Unavailable("the model is loading");
  const std::vector<std::string>& aliases = model->options.aliases;
  if (name.empty() || name == model->options.name || std::find(aliases.begin(), aliases.end(), name) != aliases.end()) {
    return model;
  }
  return AtField("model", NotFound("\"{}\" is not served here, this worker serves {}", name, model->options.name));
}

grpc::ServerWriteReactor<v1::GenerateEvent>* InferenceService::Generate(grpc::CallbackServerContext* context,
                                                                        const v1::GenerateRequest* request) {
  const absl::StatusOr<const LoadedModel*> model = Model(request->model());
  if (!model.ok()) return new FailedStream(ToGrpc(model.status(), *context));
  return GenerateStream::Start(**model, threads_, *context, *request);
}

grpc::ServerUnaryReactor* InferenceService::Validate(grpc::CallbackServerContext* context,
                                                     const v1::GenerateRequest* request,
                                                     v1::ValidateResponse* response) {
  const absl::StatusOr<const LoadedModel*> model = Model(request->model());
  if (!model.ok()) return Answer(context, model.status());
  return AnswerLater(threads_, context, request->ByteSizeLong(),
                     [model = *model, request, response] { return ValidateRequest(*model, *request, *response); });
}

grpc::ServerUnaryReactor* InferenceService::Embed(grpc::CallbackServerContext* context, const v1::EmbedRequest* request,
                                                  v1::EmbedResponse* response) {
  const absl::StatusOr<const LoadedModel*> model = Model(request->model());
  if (!model.ok()) return Answer(context, model.status());
  return EmbedCall::Start(**model, threads_, *context, *request, *response);
}

grpc::ServerUnaryReactor* InferenceService::Tokenize(grpc::CallbackServerContext* context,
                                                     const v1::TokenizeRequest* request,
                                                     v1::TokenizeResponse* response) {
  const absl::StatusOr<const LoadedModel*> model = Model(request->model());
  if (!model.ok()) return Answer(context, model.status());
  return AnswerLater(threads_, context, request->ByteSizeLong(),
                     [model = *model, request, response] { return TokenizeText(*model, *request, *response); });
}

grpc::ServerUnaryReactor* InferenceService::Detokenize(grpc::CallbackServerContext* context,
                                                       const v1::DetokenizeRequest* request,
                                                       v1::DetokenizeResponse* response) {
  const absl::StatusOr<const LoadedModel*> model = Model(request->model());
  if (!model.ok()) return Answer(context, model.status());
  return AnswerLater(threads_, context, request->ByteSizeLong(),
                     [model = *model, request, response] { return DetokenizeIds(*model, *request, *response); });
}

grpc::ServerUnaryReactor* InferenceService::ApplyTemplate(grpc::CallbackServerContext* context,
                                                          const v1::ApplyTemplateRequest* request,
                                                          v1::ApplyTemplateResponse* response) {
  const absl::StatusOr<const LoadedModel*> model = Model(request->model());
  if (!model.ok()) return Answer(context, model.status());
  return AnswerLater(threads_, context, request->ByteSizeLong(),
                     [model = *model, request, response] { return RenderTemplate(*model, *request, *response); });
}

grpc::ServerUnaryReactor* InferenceService::ListModels(grpc::CallbackServerContext* context,
                                                       const v1::ListModelsRequest*, v1::ListModelsResponse* response) {
  const absl::StatusOr<const LoadedModel*> model = Model("");
  if (model.ok()) *response->add_models() = ModelInfoOf(**model);
  return Answer(context, model.status());
}

}  // namespace inferd::worker
