#include "gateway/api/field_names.h"

#include "config/base/status.h"
#include "config/base/warning.h"
#include "gateway/json/valid_text.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {

std::string ClientName(std::string_view field, std::span<const FieldName> names) {
  for (const FieldName& name : names) {
    if (!field.starts_with(name.ours)) continue;
    const std::string_view rest = field.substr(name.ours.size());
    if (rest.empty() || rest.front() == '.' || rest.front() == '[') return fmt::format("{}{}", name.theirs, rest);
  }
  return std::string(field);
}

absl::Status WithFieldNames(const absl::Status& status, std::span<const FieldName> names) {
  return WithField(status, ClientName(FieldOf(status), names));
}

std::string ShownWarning(const v1::Warning& warning, std::string_view field) {
  return ValidText(ToString({.field = std::string(field), .text = warning.text()}));
}

std::string ConstraintName(std::string_view field, std::string_view name) {
  if (name.empty()) return std::string(field);
  const FieldName names[] = {{"constraint.json_schema", name}, {"constraint.regex", name},
                             {"constraint.grammar", name},     {"constraint.choice", name},
                             {"constraint.json_object", name}, {"constraint", name}};
  return ClientName(field, names);
}

absl::Status WithConstraintName(const absl::Status& status, std::string_view name) {
  return WithField(status, ConstraintName(FieldOf(status), name));
}

}  // namespace inferd::gateway
