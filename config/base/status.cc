#include "config/base/status.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "config/base/status_details.h"

namespace inferd {
namespace {

constexpr char kField[] = "inferd/field";

}  // namespace

std::string MessageOf(const absl::Status& status) {
  const std::string field = FieldOf(status);
  return field.empty() ? std::string(TextOf(status)) : fmt::format("{}: {}", field, TextOf(status));
}

std::string FieldOf(const absl::Status& status) {
  const auto field = status.GetPayload(kField);
  return field ? std::string(*field) : std::string();
}

absl::Status WithField(absl::Status status, std::string_view field) {
  if (field.empty()) {
    status.ErasePayload(kField);
  } else {
    status.SetPayload(kField, absl::Cord(absl::string_view(field.data(), field.size())));
  }
  return status;
}

absl::Status AtField(std::string_view field, absl::Status status) {
  const std::string inner = FieldOf(status);
  if (inner.empty()) return WithField(std::move(status), field);
  const bool joined = field.empty() || inner.front() == '[';
  return WithField(std::move(status), fmt::format("{}{}{}", field, joined ? "" : ".", inner));
}

absl::Status Annotate(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  const absl::Status text(status.code(), fmt::format("{}: {}", context, MessageOf(status)));
  return WithField(WithDetailsOf(status, text), "");
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
