#include "gateway/api/embed_fields.h"

#include "config/base/status.h"
#include "gateway/api/deadline_field.h"
#include "gateway/api/priority_field.h"

namespace inferd::gateway {

absl::Status ReadEmbedFields(Fields& fields, EmbedFields& request) {
  ASSIGN_OR_RETURN(auto normalize, fields.Boolean("normalize"));
  if (normalize) request.embed.set_normalize(*normalize);
  ASSIGN_OR_RETURN(auto truncate, fields.Boolean("truncate"));
  request.embed.set_truncate(truncate.value_or(false));
  ASSIGN_OR_RETURN(request.deadline, ReadDeadline(fields));
  ASSIGN_OR_RETURN(const v1::Priority priority, ReadPriority(fields));
  request.embed.set_priority(priority);
  fields.Ignore("user");
  request.warnings = fields.Warnings();
  return absl::OkStatus();
}

}  // namespace inferd::gateway
