// Files of people in YAML, from disk to a tree.
//
//   ASSIGN_OR_RETURN(const std::string text, ReadSmallFile("/etc/inferd/keys.yaml"));
//   YAML::Node root = LoadSingleDocument(text);    // within a seam of the yaml-cpp library
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace YAML {
class Node;
}

namespace inferd::config {

// The whole file (also /dev/fd/N), at most 4 MiB. NOT_FOUND, PERMISSION_DENIED...; INVALID_ARGUMENT: it is larger.
absl::StatusOr<std::string> ReadSmallFile(const std::string& file);

// The only document of a text; a null node if there is none. Throws YAML::Exception, also at the start of a second one:
// it would be ignored otherwise.
YAML::Node LoadSingleDocument(const std::string& text);

}  // namespace inferd::config
