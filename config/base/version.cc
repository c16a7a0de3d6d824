#include "config/base/version.h"

namespace inferd {

const std::string_view kVersion = INFERD_VERSION;

}  // namespace inferd
