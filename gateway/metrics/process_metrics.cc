#include "gateway/metrics/process_metrics.h"

#include <fmt/format.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "config/base/log.h"
#include "inferd/v1/admin.pb.h"
#include "inferd/v1/worker.pb.h"

namespace inferd::gateway {
namespace {

constexpr char kUpHelp[] = "1 if the process answers within the deadline of the scrape.";

struct GaugeRow {
  const char* name;
  const char* help;
  double (*value)(const v1::StatsResponse&);
};

#define INFERD_FIELD(field) [](const v1::StatsResponse& stats) { return static_cast<double>(stats.field()); }

const GaugeRow kGauges[] = {
    {"inferd_requests_running", "Requests in the engine's batch.", INFERD_FIELD(requests_running)},
    {"inferd_sequences_running", "Sequences (each choice of a request) in the engine's batch.",
     INFERD_FIELD(sequences_running)},
    {"inferd_requests_waiting", "Requests in the worker's queue.", INFERD_FIELD(requests_waiting)},
    {"inferd_kv_pages_used", "Pages of the KV cache in use.", INFERD_FIELD(kv_pages_used)},
    {"inferd_kv_pages", "Pages of the KV cache.", INFERD_FIELD(kv_pages_total)},
    {"inferd_kv_bytes", "Size of the pages of the KV cache.",
     [](const v1::StatsResponse& stats) {
       return static_cast<double>(stats.kv_pages_total() * stats.kv_page_bytes());
     }},
    {"inferd_recurrent_state_bytes", "Size of the state of recurrent layers, in the KV cache's pool beside the pages.",
     INFERD_FIELD(recurrent_state_bytes)},
    {"inferd_kv_pages_cached", "Pages of the KV cache kept for reuse alone, free on demand.",
     INFERD_FIELD(kv_pages_cached)},
    {"inferd_draft_kv_pages_used", "Pages of the draft model's KV cache in use.", INFERD_FIELD(draft_kv_pages_used)},
    {"inferd_draft_kv_pages", "Pages of the draft model's KV cache.", INFERD_FIELD(draft_kv_pages_total)},
    {"inferd_draft_kv_bytes", "Size of the pages of the draft model's KV cache.",
     [](const v1::StatsResponse& stats) {
       return static_cast<double>(stats.draft_kv_pages_total() * stats.draft_kv_page_bytes());
     }},
    {"inferd_worker_resident_bytes", "Resident memory of the worker.", INFERD_FIELD(resident_bytes)},
    {"inferd_weights_bytes", "Size of the mapped weights, a draft model's among them.", INFERD_FIELD(weights_bytes)},
    {"inferd_weights_resident_bytes", "Weights in memory: what the worker has resident of mapped files.",
     [](const v1::StatsResponse& stats) {
       return static_cast<double>(std::min(stats.resident_file_bytes(), stats.weights_bytes()));
     }},
};

const GaugeRow kCounters[] = {
    {"inferd_engine_steps_total", "Steps of the engine.", INFERD_FIELD(steps)},
    {"inferd_prompt_tokens_total", "Prompt tokens that the worker took.", INFERD_FIELD(prompt_tokens)},
    {"inferd_cached_prompt_tokens_total", "Prompt tokens whose KV came from the prefix cache.",
     INFERD_FIELD(cached_prompt_tokens)},
    {"inferd_generation_tokens_total", "Tokens that the worker generated.", INFERD_FIELD(generation_tokens)},
    {"inferd_preemptions_total", "Sequences put back into the queue for want of KV pages.", INFERD_FIELD(preemptions)},
    {"inferd_prefix_cache_queries_total", "Look-ups in the prefix cache.", INFERD_FIELD(prefix_queries)},
    {"inferd_prefix_cache_hits_total", "Look-ups that found a prefix.", INFERD_FIELD(prefix_hits)},
    {"inferd_draft_tokens_proposed_total", "Draft tokens proposed.", INFERD_FIELD(draft_tokens_proposed)},
    {"inferd_draft_tokens_accepted_total", "Draft tokens accepted.", INFERD_FIELD(draft_tokens_accepted)},
    {"inferd_nonfinite_logits_total", "Requests that ended because logits were not finite.",
     INFERD_FIELD(nonfinite_logits)},
};

#undef INFERD_FIELD

// The worker names its histograms itself ("queue_seconds"); nothing else becomes the name of a metric.
bool IsMetricName(std::string_view name) {
  return !name.empty() && name.size() <= 64 && absl::ascii_islower(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_'; });
}

void AddHistograms(const v1::StatsResponse& stats, const FamilySet::Labels& labels, FamilySet& families) {
  for (const auto& [name, data] : stats.histograms()) {
    if (!IsMetricName(name)) continue;
    std::string words = name;
    std::replace(words.begin(), words.end(), '_', ' ');
    families.Histogram("inferd_worker_" + name, "Distribution of " + words + ", as the worker measures it.", labels,
                       {data.upper_bounds().begin(), data.upper_bounds().end()},
                       {data.counts().begin(), data.counts().end()}, data.sum());
  }
}

void AddModelInfo(const std::string& model, const v1::StatsResponse& stats, FamilySet& families) {
  const v1::ModelInfo& info = stats.info();
  families.Gauge("inferd_model_info", "1, with what the loaded model is.",
                 {{"model", model},
                  {"version", fmt::to_string(stats.version())},
                  {"fingerprint", stats.fingerprint()},
                  {"architecture", info.architecture()},
                  {"quantization", info.quantization()}},
                 1);
}

}  // namespace

void AddGatewayProcess(FamilySet& families) {
  families.Gauge("inferd_up", kUpHelp, {{"model", ""}, {"version", ""}, {"process", "gateway"}}, 1);
  families.Counter("inferd_log_lines_dropped_total", "Log lines lost because their reader was too slow.",
                   {{"model", ""}, {"version", ""}, {"process", "gateway"}}, static_cast<double>(LogLinesDropped()));
}

void AddWorker(const std::string& model, uint64_t version, const v1::StatsResponse* stats, FamilySet& families) {
  const FamilySet::Labels labels{{"model", model}, {"version", fmt::to_string(version)}};
  FamilySet::Labels process = labels;
  process.emplace_back("process", "worker");
  families.Gauge("inferd_up", kUpHelp, process, stats != nullptr ? 1 : 0);
  if (stats == nullptr) return;
  for (const GaugeRow& row : kGauges) families.Gauge(row.name, row.help, labels, row.value(*stats));
  for (const GaugeRow& row : kCounters) families.Counter(row.name, row.help, labels, row.value(*stats));
  for (const auto& [reason, count] : stats->finished()) {
    FamilySet::Labels with_reason = labels;
    with_reason.emplace_back("reason", reason);
    families.Counter("inferd_answers_finished_total", "Answers (each choice of a request) by finish reason.",
                     with_reason, static_cast<double>(count));
  }
  for (const auto& [reason, count] : stats->rejections()) {
    FamilySet::Labels with_reason = labels;
    with_reason.emplace_back("reason", reason);
    families.Counter("inferd_rejections_total", "Requests that the worker refused.", with_reason,
                     static_cast<double>(count));
  }
  families.Counter("inferd_log_lines_dropped_total", "Log lines lost because their reader was too slow.", process,
                   static_cast<double>(stats->log_lines_dropped()));
  AddHistograms(*stats, labels, families);
  AddModelInfo(model, *stats, families);
}

void AddSupervisor(const v1::StatusResponse* status, FamilySet& families) {
  families.Gauge("inferd_up", kUpHelp, {{"model", ""}, {"version", ""}, {"process", "supervisor"}},
                 status != nullptr ? 1 : 0);
  if (status == nullptr) return;
  for (const auto& [result, count] : {std::pair{"ok", status->reloads_ok()}, {"failed", status->reloads_failed()}}) {
    families.Counter("inferd_reloads_total", "Reloads of the configuration, by result.",
                     {{"model", ""}, {"result", result}}, static_cast<double>(count));
  }
  families.Gauge("inferd_memory_planned_bytes", "Of all loaded models: file, KV pool and scratch.", {{"model", ""}},
                 static_cast<double>(status->memory_planned_bytes()));
  families.Gauge("inferd_memory_budget_bytes", "Budget of the loaded models; 0: none.", {{"model", ""}},
                 static_cast<double>(status->memory_budget_bytes()));
  families.Counter("inferd_rollbacks_total", "Changes of traffic that were taken back.", {{"model", ""}},
                   static_cast<double>(status->rollbacks()));
  families.Counter("inferd_gateway_restarts_total", "Starts of the gateway after its first.", {{"model", ""}},
                   status->gateway().restarts());
  for (const v1::WorkerStatus& worker : status->workers()) {
    const FamilySet::Labels labels{{"model", worker.model()}, {"version", fmt::to_string(worker.version())}};
    FamilySet::Labels with_state = labels;
    with_state.emplace_back("state", worker.state());
    families.Gauge("inferd_worker_state", "1 for the state that the worker is in.", with_state, 1);
    families.Counter("inferd_worker_restarts_total", "Starts of the worker after its first.", labels,
                     worker.restarts());
    for (const auto& [cause, count] : worker.exits()) {
      FamilySet::Labels with_cause = labels;
      with_cause.emplace_back("cause", cause);
      families.Counter("inferd_worker_exits_total", "Ends of the worker that nobody asked for, by cause.", with_cause,
                       count);
    }
    families.Gauge("inferd_route_weight", "Share of the model's requests that go to this version.", labels,
                   worker.weight());
  }
}

}  // namespace inferd::gateway
