// A unary call that tells its client when work on it begins.
//
//   auto* call = new UnaryCall(context);       // gRPC owns it until it is done
//   call->TellBegun();
//   call->WaitUntilTold();
//   call->Finish(status);
#pragma once

#include <grpcpp/grpcpp.h>

#include "absl/synchronization/notification.h"
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
  void WaitUntilTold() { told_.WaitForNotification(); }

 protected:
  grpc::CallbackServerContext& context_;

 private:
  void OnSendInitialMetadataDone(bool) override { told_.Notify(); }
  void OnDone() override { delete this; }

  absl::Notification told_;
};

}  // namespace inferd::worker
