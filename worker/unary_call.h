// A unary call that tells its client when work on it begins.
//
//   auto* call = new UnaryCall(context);       // gRPC owns it until it is done
//   call->TellBegun();
//   call->WaitUntilTold();
//   call->Finish(status);
#pragma once

#include <grpcpp/grpcpp.h>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "config/base/clock.h"
#include "proto/call_metadata.h"

namespace inferd::worker {

class UnaryCall : public grpc::ServerUnaryReactor {
 public:
  explicit UnaryCall(grpc::CallbackServerContext& context) : context_(context) {}

  // Once.
  void TellBegun() {
    context_.AddInitialMetadata(kWorkBegun, "1");
    StartSendInitialMetadata();
  }
  // Returns when that is on its way: it reaches the client even if the process dies now.
  void WaitUntilTold() { told_.WaitForNotification(); }
  // The same, or when `most` has passed: for threads that no slow client may hold.
  void WaitUntilTold(Milliseconds most) { told_.WaitForNotificationWithTimeout(absl::Milliseconds(most.count())); }

 protected:
  grpc::CallbackServerContext& context_;

 private:
  void OnSendInitialMetadataDone(bool) override { told_.Notify(); }
  void OnDone() override { delete this; }

  absl::Notification told_;
};

}  // namespace inferd::worker
