// The tests' source folder, as the build told it.
#include "config/base/source_folder.h"

namespace inferd {

std::filesystem::path SourceFolder() { return INFERD_SOURCE_DIR; }

}  // namespace inferd
