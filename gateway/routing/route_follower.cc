#include "gateway/routing/route_follower.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>

#include "absl/synchronization/mutex.h"
#include "config/base/log.h"
#include "config/base/repeating_thread.h"
#include "gateway/routing/routes.h"
#include "gateway/routing/worker_pool.h"
#include "inferd/v1/admin.grpc.pb.h"

namespace inferd::gateway {
namespace {

constexpr Milliseconds kFirstRetry{50};
constexpr Milliseconds kLongestRetry{2000};

}  // namespace

class RouteFollower::Loop {
 public:
  Loop(const std::string& target, Routes& routes)
      : routes_(routes),
        stub_(v1::Admin::NewStub(MakeChannel(target))),
        thread_([this] { return FollowAndRest(); }, [this] { EndStream(); }) {}

 private:
  // Gives the time to rest before the next try.
  Milliseconds FollowAndRest() {
    if (FollowOnce()) retry_ = kFirstRetry;
    return std::exchange(retry_, std::min(retry_ * 2, kLongestRetry));
  }

  void EndStream() {
    absl::MutexLock lock(&mutex_);
    if (context_ != nullptr) context_->TryCancel();
  }

  // Until the stream ends. True if a table came.
  bool FollowOnce() {
    grpc::ClientContext context;
    SetContext(&context);
    if (thread_.stopping()) {
      SetContext(nullptr);
      return false;
    }
    const auto stream = stub_->WatchRoutes(&context);
    v1::WatchRoutesRequest told;
    told.set_applies(true);
    stream->Write(told);  // if it fails, so does Read
    v1::RouteSnapshot snapshot;
    bool any = false;
    uint64_t revision = 0;
    while (stream->Read(&snapshot)) {
      if (any && snapshot.revision() < revision) continue;
      any = true;
      revision = snapshot.revision();
      routes_.Update(std::make_shared<const RouteTable>(snapshot));
      told.set_applied_revision(revision);
      stream->Write(told);
    }
    const grpc::Status status = stream->Finish();
    SetContext(nullptr);
    if (any && !thread_.stopping())
      LogWarning("lost the supervisor's routes, keeping the last", {{"error", status.error_message()}});
    return any;
  }

  void SetContext(grpc::ClientContext* context) {
    absl::MutexLock lock(&mutex_);
    context_ = context;
  }

  Routes& routes_;
  std::unique_ptr<v1::Admin::Stub> stub_;
  Milliseconds retry_ = kFirstRetry;  // of the thread alone
  absl::Mutex mutex_;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  RepeatingThread thread_;
};

RouteFollower::RouteFollower(const std::string& target, Routes& routes)
    : loop_(std::make_unique<Loop>(target, routes)) {}

RouteFollower::~RouteFollower() = default;

}  // namespace inferd::gateway
