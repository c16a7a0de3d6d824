#include "gateway/routing/route_follower.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/base/log.h"
#include "gateway/routing/routes.h"
#include "gateway/routing/worker_pool.h"
#include "inferd/v1/admin.grpc.pb.h"

namespace inferd::gateway {
namespace {

constexpr absl::Duration kFirstRetry = absl::Milliseconds(50);
constexpr absl::Duration kLongestRetry = absl::Seconds(2);

}  // namespace

class RouteFollower::Loop {
 public:
  Loop(const std::string& target, Routes& routes)
      : routes_(routes), stub_(v1::Admin::NewStub(MakeChannel(target))), thread_([this] { Run(); }) {}

  ~Loop() {
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
      if (context_ != nullptr) context_->TryCancel();
    }
    thread_.join();
  }

 private:
  void Run() {
    absl::Duration retry = kFirstRetry;
    while (true) {
      if (FollowOnce()) retry = kFirstRetry;
      absl::MutexLock lock(&mutex_);
      if (mutex_.AwaitWithTimeout(absl::Condition(&stopping_), retry)) return;
      retry = std::min(retry * 2, kLongestRetry);
    }
  }

  // Until the stream ends. True if a table came.
  bool FollowOnce() {
    grpc::ClientContext context;
    {
      absl::MutexLock lock(&mutex_);
      if (stopping_) return false;
      context_ = &context;
    }
    auto reader = stub_->WatchRoutes(&context, v1::WatchRoutesRequest());
    v1::RouteSnapshot snapshot;
    bool any = false;
    uint64_t revision = 0;
    while (reader->Read(&snapshot)) {
      if (any && snapshot.revision() < revision) continue;
      any = true;
      revision = snapshot.revision();
      routes_.Update(std::make_shared<const RouteTable>(snapshot));
    }
    grpc::Status status = reader->Finish();
    absl::MutexLock lock(&mutex_);
    context_ = nullptr;
    if (!stopping_ && any)
      LogWarning("lost the supervisor's routes, keeping the last", {{"error", status.error_message()}});
    return any;
  }

  Routes& routes_;
  std::unique_ptr<v1::Admin::Stub> stub_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::thread thread_;
};

RouteFollower::RouteFollower(const std::string& target, Routes& routes)
    : loop_(std::make_unique<Loop>(target, routes)) {}

RouteFollower::~RouteFollower() = default;

}  // namespace inferd::gateway
