// Fields of the contract (proto/inferd/v1/inference.proto) as the client of an API calls them.
//
//   static constexpr FieldName kNames[] = {{"chat.messages", "messages"}};
//   return WithFieldNames(status, kNames);
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace inferd::v1 {
class Warning;
}

namespace inferd::gateway {

// A field of the contract, and what it is called over HTTP.
struct FieldName {
  std::string_view ours;
  std::string_view theirs;
};
// What the client calls `field`: by the first name that fits, whole or up to a dot or bracket; itself if none does.
std::string ClientName(std::string_view field, std::span<const FieldName> names);
// The same for the field that binds the output's form, whichever it was; `name` empty: itself.
std::string ConstraintName(std::string_view field, std::string_view name);

// A worker's warning as the client is shown it, about the field of this name.
std::string ShownWarning(const v1::Warning& warning, std::string_view field);

// The same status with the field at fault as the client calls it.
absl::Status WithFieldNames(const absl::Status& status, std::span<const FieldName> names);
absl::Status WithConstraintName(const absl::Status& status, std::string_view name);

}  // namespace inferd::gateway
