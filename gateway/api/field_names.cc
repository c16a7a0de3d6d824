#include "gateway/api/field_names.h"

#include "config/base/status.h"
#include "config/base/status_details.h"

namespace inferd::gateway {

absl::Status WithFieldNames(const absl::Status& status, std::span<const FieldName> names) {
  const std::string_view message = MessageOf(status);
  for (const FieldName& name : names) {
    if (!message.starts_with(name.ours) || message.size() == name.ours.size()) continue;
    const std::string_view rest = message.substr(name.ours.size());
    if (rest.front() != '.' && rest.front() != '[' && !rest.starts_with(": ")) continue;
    return WithDetailsOf(status, absl::Status(status.code(), fmt::format("{}{}", name.theirs, rest)));
  }
  return status;
}

absl::Status WithConstraintName(const absl::Status& status, std::string_view name) {
  if (name.empty()) return status;
  const FieldName names[] = {{"constraint.json_schema", name}, {"constraint.regex", name},
                             {"constraint.grammar", name},     {"constraint.choice", name},
                             {"constraint.json_object", name}, {"constraint", name}};
  return WithFieldNames(status, names);
}

}  // namespace inferd::gateway
