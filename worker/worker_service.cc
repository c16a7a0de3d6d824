// Stats never waits for the engine; Drain waits on a thread of its own.
#include "worker/worker_service.h"

#include <algorithm>
#include <thread>

#include "config/base/log.h"
#include "worker/model_info.h"

namespace inferd::worker {
namespace {

constexpr uint64_t kLongestDrainMilliseconds = uint64_t{1000} * 60 * 60 * 24;

void WriteStatistics(const engine::Statistics& statistics, v1::StatsResponse& response) {
  response.set_steps(statistics.steps);
  response.set_progress(statistics.progress);
  response.set_requests_running(statistics.requests_running);
  response.set_requests_waiting(statistics.requests_waiting);
  response.set_sequences_running(statistics.sequences_running);
  response.set_kv_pages_used(static_cast<uint64_t>(statistics.cache.blocks_used));
  response.set_kv_pages_total(static_cast<uint64_t>(statistics.cache.blocks_total));
  response.set_kv_pages_cached(static_cast<uint64_t>(statistics.cache.blocks_cached));
  response.set_kv_page_bytes(static_cast<uint64_t>(statistics.cache.block_bytes));
  response.set_recurrent_state_bytes(static_cast<uint64_t>(statistics.cache.state_bytes));
  response.set_draft_kv_pages_used(static_cast<uint64_t>(statistics.draft_cache.blocks_used));
  response.set_draft_kv_pages_total(static_cast<uint64_t>(statistics.draft_cache.blocks_total));
  response.set_draft_kv_page_bytes(static_cast<uint64_t>(statistics.draft_cache.block_bytes));
  response.set_prompt_tokens(statistics.prompt_tokens);
  response.set_cached_prompt_tokens(statistics.cached_prompt_tokens);
  response.set_generation_tokens(statistics.generation_tokens);
  response.set_preemptions(statistics.preemptions);
  response.set_prefix_queries(statistics.prefix_queries);
  response.set_prefix_hits(statistics.prefix_hits);
  response.set_draft_tokens_proposed(statistics.draft_tokens_proposed);
  response.set_draft_tokens_accepted(statistics.draft_tokens_accepted);
  response.set_nonfinite_logits(statistics.nonfinite_logits);
  for (const auto& [reason, count] : statistics.finished) (*response.mutable_finished())[reason] = count;
  for (const auto& [reason, count] : statistics.rejections) (*response.mutable_rejections())[reason] = count;
  statistics.VisitHistograms([&](const char* name, const engine::Histogram& histogram) {
    v1::HistogramData& data = (*response.mutable_histograms())[name];
    data.mutable_upper_bounds()->Add(histogram.upper_bounds.begin(), histogram.upper_bounds.end());
    data.mutable_counts()->Add(histogram.counts.begin(), histogram.counts.end());
    data.set_sum(histogram.sum);
  });
}

void WriteModel(const LoadedModel& model, v1::StatsResponse& response) {
  response.set_weights_bytes(model.file->size_bytes() + model.draft_file_bytes);
  response.set_fingerprint(model.fingerprint());
  response.set_tokenizer_fingerprint(model.tokenizer_fingerprint());
  response.set_draining(model.engine->draining());
  *response.mutable_info() = ModelInfoOf(model);
}

}  // namespace

WorkerService::WorkerService(std::string model, uint64_t version) : name_(std::move(model)), version_(version) {}

void WorkerService::WriteMemory(v1::StatsResponse& response) const {
  const std::optional<MemoryUse> use = memory_.Read();
  if (!use) return;
  response.set_resident_bytes(use->resident_bytes);
  response.set_resident_file_bytes(use->file_bytes);
}

grpc::ServerUnaryReactor* WorkerService::Stats(grpc::CallbackServerContext* context, const v1::StatsRequest*,
                                               v1::StatsResponse* response) {
  response->set_model(name_);
  response->set_version(version_);
  response->set_pid(getpid());
  WriteMemory(*response);
  response->set_log_lines_dropped(LogLinesDropped());
  if (const LoadedModel* model = model_) {
    WriteStatistics(model->engine->Stats(), *response);
    WriteModel(*model, *response);
    response->set_load_progress(1);
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* WorkerService::Drain(grpc::CallbackServerContext* context,
                                               const v1::DrainWorkerRequest* request,
                                               v1::DrainWorkerResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const LoadedModel* model = model_;
  if (model == nullptr) {
    reactor->Finish({grpc::StatusCode::UNAVAILABLE, "the model is loading"});
    return reactor;
  }
  on_drain_();
  const Milliseconds wait(std::min(request->deadline_ms(), kLongestDrainMilliseconds));
  std::thread([model, wait, reactor, response] {
    response->set_unfinished(static_cast<uint32_t>(model->engine->Drain(Clock::System().Now() + wait)));
    reactor->Finish(grpc::Status::OK);
  }).detach();
  return reactor;
}

}  // namespace inferd::worker
