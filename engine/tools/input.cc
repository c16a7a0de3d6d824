#include "engine/tools/input.h"

#include <cerrno>
#include <fstream>
#include <iostream>
#include <iterator>

#include "config/base/status.h"

namespace inferd::tools {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::ifstream file(path, std::ios::binary);
  if (!file) return FromErrno(errno, path);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) return FromErrno(errno, path);
  return text;
}

}  // namespace inferd::tools
