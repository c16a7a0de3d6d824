// The version of this build, as the project's CMakeLists.txt says it.
#pragma once

#include <string_view>

namespace inferd {

extern const std::string_view kVersion;

}  // namespace inferd
