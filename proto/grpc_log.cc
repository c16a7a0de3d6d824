#include "proto/grpc_log.h"

#include <grpc/support/log.h>

#include "config/base/log.h"

namespace inferd {
namespace {

void WriteLine(gpr_log_func_args* line) {
  // gRPC's errors are our warnings: whoever called it reports what follows from them.
  const LogLevel level = line->severity == GPR_LOG_SEVERITY_ERROR ? LogLevel::kWarning : LogLevel::kDebug;
  Log(level, line->message, {{"library", "grpc"}, {"file", line->file}, {"line", line->line}});
}

}  // namespace

void TakeOverGrpcLog() { gpr_set_log_function(WriteLine); }

}  // namespace inferd
