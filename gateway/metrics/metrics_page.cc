#include "gateway/metrics/metrics_page.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <optional>

#include "config/api_keys.h"
#include "config/base/log.h"
#include "gateway/calls/unary_call.h"
#include "gateway/metrics/family_set.h"
#include "gateway/metrics/process_metrics.h"
#include "gateway/routing/route_table.h"
#include "gateway/routing/routes.h"
#include "gateway/routing/upstream.h"
#include "gateway/routing/worker_pool.h"
#include "gateway/serving/gateway_metrics.h"
#include "inferd/v1/admin.grpc.pb.h"

namespace inferd::gateway {
namespace {

using std::chrono::steady_clock;

// Answers of one scrape; shared with the coroutines that wait for them.
struct Scrape {
  explicit Scrape(const Executor& executor) : answered(executor) {}
  struct WorkerAnswer {
    std::string model;
    uint64_t version = 0;
    std::shared_ptr<WorkerConnection> connection;
    std::optional<v1::StatsResponse> stats;
  };
  std::vector<WorkerAnswer> workers;
  std::optional<v1::StatusResponse> supervisor;
  size_t waiting = 0;
  Signal answered;
};

Task<void> AskWorker(std::shared_ptr<Scrape> scrape, size_t index, Executor executor, TimePoint deadline) {
  std::shared_ptr<WorkerConnection> worker = scrape->workers[index].connection;
  auto request = std::make_shared<v1::StatsRequest>();
  auto start = [worker, request](const std::shared_ptr<grpc::ClientContext>& context, v1::StatsResponse* response,
                                 std::function<void(grpc::Status)> done) {
    worker->worker->async()->Stats(context.get(), request.get(), response, std::move(done));
  };
  CallResult<v1::StatsResponse> result = co_await CallWorker<v1::StatsResponse>(executor, deadline, "metrics", start);
  if (result.end.status.ok()) scrape->workers[index].stats = std::move(result.response);
  --scrape->waiting;
  scrape->answered.Notify();
}

Task<void> AskSupervisor(std::shared_ptr<Scrape> scrape, v1::Admin::Stub* stub, Executor executor, TimePoint deadline) {
  auto request = std::make_shared<v1::StatusRequest>();
  auto start = [stub, request](const std::shared_ptr<grpc::ClientContext>& context, v1::StatusResponse* response,
                               std::function<void(grpc::Status)> done) {
    stub->async()->Status(context.get(), request.get(), response, std::move(done));
  };
  CallResult<v1::StatusResponse> result = co_await CallWorker<v1::StatusResponse>(executor, deadline, "metrics", start);
  if (result.end.status.ok()) scrape->supervisor = std::move(result.response);
  --scrape->waiting;
  scrape->answered.Notify();
}

}  // namespace

struct MetricsPage::Sources {
  std::unique_ptr<v1::Admin::Stub> admin;
};

MetricsPage::MetricsPage(const GatewayMetrics& metrics, Upstream& upstream, const std::string& admin_target,
                         bool for_all)
    : metrics_(metrics), upstream_(upstream), sources_(std::make_unique<Sources>()), for_all_(for_all) {
  if (!admin_target.empty()) sources_->admin = v1::Admin::NewStub(MakeChannel(admin_target));
}

MetricsPage::~MetricsPage() = default;

Task<std::string> MetricsPage::Render(Executor executor, const config::ApiKey* key) {
  auto scrape = std::make_shared<Scrape>(executor);
  std::shared_ptr<const RouteTable> table = upstream_.routes.Current();
  for (const ModelRoute& model : table->models()) {
    for (const VersionRoute& version : model.versions) {
      if (version.address.empty() || version.unloaded()) continue;
      scrape->workers.push_back({model.model, version.version, upstream_.workers.Get(version.address), std::nullopt});
    }
  }
  TimePoint deadline = steady_clock::now() + kDeadline;
  scrape->waiting = scrape->workers.size() + (sources_->admin != nullptr ? 1 : 0);
  for (size_t i = 0; i < scrape->workers.size(); ++i) {
    boost::asio::co_spawn(executor, AskWorker(scrape, i, executor, deadline), boost::asio::detached);
  }
  if (sources_->admin != nullptr) {
    boost::asio::co_spawn(executor, AskSupervisor(scrape, sources_->admin.get(), executor, deadline),
                          boost::asio::detached);
  }
  while (scrape->waiting > 0 && co_await scrape->answered.Wait(deadline)) {
  }

  FamilySet families(metrics_.Collect());
  AddGatewayProcess(families);
  for (const Scrape::WorkerAnswer& worker : scrape->workers) {
    AddWorker(worker.model, worker.version, worker.stats ? &*worker.stats : nullptr, families);
  }
  if (sources_->admin != nullptr) AddSupervisor(scrape->supervisor ? &*scrape->supervisor : nullptr, families);
  if (key != nullptr && !for_all_) families.KeepModels([key](const std::string& model) { return key->MayUse(model); });
  co_return prometheus::TextSerializer().Serialize(families.Release());
}

}  // namespace inferd::gateway
