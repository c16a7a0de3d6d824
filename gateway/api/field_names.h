// Fields of the contract (proto/inferd/v1/inference.proto) as the client of an API calls them.
//
//   static constexpr FieldName kNames[] = {{"chat.messages", "messages"}};
//   return WithFieldNames(status, kNames);
#pragma once

#include <span>
#include <string_view>

#include "absl/status/status.h"

namespace inferd::gateway {

// A field of the contract, and what it is called over HTTP.
struct FieldName {
  std::string_view ours;
  std::string_view theirs;
};
// The same status with the field at the start of its message as the client calls it: the first that fits, whole or up
// to a dot or bracket.
absl::Status WithFieldNames(const absl::Status& status, std::span<const FieldName> names);
// The same for the field that binds the output's form, whichever it was; empty: none.
absl::Status WithConstraintName(const absl::Status& status, std::string_view name);

}  // namespace inferd::gateway
