#include "config/base/status.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "config/base/status_details.h"

namespace inferd {

absl::Status Annotate(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  return WithDetailsOf(status, absl::Status(status.code(), fmt::format("{}: {}", context, MessageOf(status))));
}

absl::Status FromErrno(int error_number, std::string_view what) {
  char buffer[128];
  const char* text = strerror_r(error_number, buffer, sizeof buffer);
  return absl::Status(absl::ErrnoToStatusCode(error_number), fmt::format("{}: {}", what, text));
}

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, condition);
  std::abort();
}

}  // namespace inferd
