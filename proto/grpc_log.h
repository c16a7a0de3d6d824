// Makes lines that the gRPC library logs lines of our log, so that standard error has one format.
//
//   StartLog({.process = "inferd-gateway"});
//   TakeOverGrpcLog();
#pragma once

namespace inferd {

// Once, in main, before gRPC is used.
void TakeOverGrpcLog();

}  // namespace inferd
