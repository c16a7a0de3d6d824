// Dates and times as Python's datetime.strftime writes them, in the C locale.
//
//   ASSIGN_OR_RETURN(Text text, FormatTime(Text("%d %b %Y", true), now));   // "29 Nov 2026"
#pragma once

#include <ctime>

#include "absl/status/statusor.h"
#include "engine/template/text.h"

namespace inferd::chat_template {

// INVALID_ARGUMENT: a field width beyond 100.
absl::StatusOr<Text> FormatTime(const Text& format, const std::tm& time);

}  // namespace inferd::chat_template
