#include "gateway/serving/model_info.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <memory>

#include "gateway/calls/unary_call.h"
#include "gateway/routing/routes.h"
#include "gateway/routing/worker_pool.h"
#include "gateway/serving/served_request.h"

namespace inferd::gateway {
namespace {

constexpr auto kDeadline = std::chrono::milliseconds(500);

Task<v1::ModelInfo> AskWorker(Upstream& upstream, const VersionRoute& version, std::string request_id,
                              Executor executor) {
  std::shared_ptr<WorkerConnection> worker = upstream.workers.Get(version.address);
  v1::ListModelsRequest request;
  auto start = [&](const std::shared_ptr<grpc::ClientContext>& context, v1::ListModelsResponse* response,
                   std::function<void(grpc::Status)> done) {
    worker->inference->async()->ListModels(context.get(), &request, response, std::move(done));
  };
  TimePoint deadline = std::chrono::steady_clock::now() + kDeadline;
  CallResult<v1::ListModelsResponse> result =
      co_await CallWorker<v1::ListModelsResponse>(executor, deadline, std::move(request_id), start);
  v1::ModelInfo info;
  if (result.end.status.ok() && result.response.models_size() > 0) info = result.response.models(0);
  co_return info;
}

// Answers that are waited for; shared with the coroutines that bring them.
struct Asked {
  Asked(size_t count, const Executor& executor) : infos(count), waiting(count), answered(executor) {}
  std::vector<v1::ModelInfo> infos;
  size_t waiting;
  Signal answered;
};

Task<void> AskForOne(std::shared_ptr<Asked> asked, size_t index, Upstream& upstream, const ModelRoute& route,
                     std::string request_id, Executor executor) {
  asked->infos[index] = co_await AskForModelInfo(upstream, route, std::move(request_id), executor);
  --asked->waiting;
  asked->answered.Notify();
}

}  // namespace

std::vector<const ModelRoute*> VisibleModels(const RouteTable& table, const ServedRequest& request) {
  std::vector<const ModelRoute*> routes;
  for (const ModelRoute& route : table.models()) {
    if (MaySee(request, route.model)) routes.push_back(&route);
  }
  return routes;
}

Task<v1::ModelInfo> AskForModelInfo(Upstream& upstream, const ModelRoute& route, std::string request_id,
                                    Executor executor) {
  v1::ModelInfo info;
  if (const VersionRoute* version = PickVersion(route, 0)) {
    info = co_await AskWorker(upstream, *version, std::move(request_id), executor);
    info.set_version(version->version);
    info.set_fingerprint(version->fingerprint);
    info.set_updated_unix_seconds(version->updated_unix_seconds);
  }
  info.set_name(route.model);
  info.clear_aliases();
  for (const std::string& alias : route.aliases) info.add_aliases(alias);
  info.set_state(std::string(route.state()));
  if (info.created_unix_seconds() == 0) info.set_created_unix_seconds(info.updated_unix_seconds());
  co_return info;
}

Task<std::vector<v1::ModelInfo>> AskForModelInfos(Upstream& upstream, std::vector<const ModelRoute*> routes,
                                                  std::string request_id, Executor executor) {
  auto asked = std::make_shared<Asked>(routes.size(), executor);
  for (size_t i = 0; i < routes.size(); ++i) {
    boost::asio::co_spawn(executor, AskForOne(asked, i, upstream, *routes[i], request_id, executor),
                          boost::asio::detached);
  }
  while (asked->waiting > 0) co_await asked->answered.Wait(TimePoint::max());
  co_return std::move(asked->infos);
}

}  // namespace inferd::gateway
