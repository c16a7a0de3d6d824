// Errors of the whole project: absl::Status made from a format string, and the macro pair that passes them on.
//
//   absl::StatusOr<Header> ReadHeader(std::string_view bytes) {
//     if (bytes.size() < 24) return InvalidArgument("header: file has {} bytes, expected at least 24", bytes.size());
//     ASSIGN_OR_RETURN(uint32_t version, ReadVersion(bytes));
//     RETURN_IF_ERROR(CheckVersion(version));
//     ...
//   }
//
// A message names the thing, the value and what was expected. CHECK is for broken invariants of our own, never input.
//
// The field of a request or the option of a configuration that is at fault stands beside the text, as its path:
//
//   if (top_k < 0) return InvalidField("top_k", "{} is not 0 (off) or more", top_k);
//   RETURN_IF_ERROR(AtField(fmt::format("messages[{}]", i), ReadMessage(value)));   // "messages[2]" + "content"
//   FieldOf(status) == "messages[2].content"
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace inferd {

// The text without the field at fault.
inline std::string_view TextOf(const absl::Status& status) {
  return std::string_view(status.message().data(), status.message().size());
}
// What people are shown: "field: text", or the text where no field is at fault.
std::string MessageOf(const absl::Status& status);

// Path of the field at fault; empty where none is.
std::string FieldOf(const absl::Status& status);
// `status` as an error of `field`, or of the part of `field` that the status names. OK stays OK.
absl::Status AtField(std::string_view field, absl::Status status);
// The same with another field in place of the one that it has; empty: none.
absl::Status WithField(absl::Status status, std::string_view field);

// The same code with "context: " before the message, in which the field at fault is a part of the text; OK stays OK.
absl::Status Annotate(const absl::Status& status, std::string_view context);

#define INFERD_STATUS_MAKER(Name)                                               \
  template <typename... Args>                                                   \
  absl::Status Name(fmt::format_string<Args...> format, Args&&... args) {       \
    return absl::Name##Error(fmt::format(format, std::forward<Args>(args)...)); \
  }
INFERD_STATUS_MAKER(InvalidArgument)
INFERD_STATUS_MAKER(NotFound)
INFERD_STATUS_MAKER(AlreadyExists)
INFERD_STATUS_MAKER(FailedPrecondition)
INFERD_STATUS_MAKER(OutOfRange)
INFERD_STATUS_MAKER(ResourceExhausted)
INFERD_STATUS_MAKER(Unavailable)
INFERD_STATUS_MAKER(DeadlineExceeded)
INFERD_STATUS_MAKER(Cancelled)
INFERD_STATUS_MAKER(PermissionDenied)
INFERD_STATUS_MAKER(Unauthenticated)
INFERD_STATUS_MAKER(Unimplemented)
INFERD_STATUS_MAKER(DataLoss)
INFERD_STATUS_MAKER(Internal)
#undef INFERD_STATUS_MAKER

// INVALID_ARGUMENT of a field.
template <typename... Args>
absl::Status InvalidField(std::string_view field, fmt::format_string<Args...> format, Args&&... args) {
  return AtField(field, absl::InvalidArgumentError(fmt::format(format, std::forward<Args>(args)...)));
}

// INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, ... of a failed system call, with strerror(error_number).
absl::Status FromErrno(int error_number, std::string_view what);

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);

}  // namespace inferd

#define INFERD_CONCAT_INNER(a, b) a##b
#define INFERD_CONCAT(a, b) INFERD_CONCAT_INNER(a, b)

#define RETURN_IF_ERROR(expression)                \
  do {                                             \
    absl::Status inferd_status = (expression);     \
    if (!inferd_status.ok()) return inferd_status; \
  } while (false)

#define ASSIGN_OR_RETURN(target, expression) \
  INFERD_ASSIGN_OR_RETURN(INFERD_CONCAT(inferd_statusor_, __LINE__), target, expression)
#define INFERD_ASSIGN_OR_RETURN(name, target, expression) \
  auto name = (expression);                               \
  if (!name.ok()) return std::move(name).status();        \
  target = *std::move(name)

#define CHECK(condition) ((condition) ? static_cast<void>(0) : ::inferd::CheckFailed(__FILE__, __LINE__, #condition))
