// The names that exist in every template: range, dict, namespace, cycler, joiner, raise_exception, strftime_now.
#pragma once

#include <ctime>
#include <optional>
#include <string_view>

#include "engine/template/heap.h"

namespace inferd::chat_template {

// `now` must outlive the value.
std::optional<Value> FindGlobal(Heap& heap, std::string_view name, const std::tm& now);

}  // namespace inferd::chat_template
