// Exceptions of the yaml-cpp library begin and pass here.
#include "config/yaml_text.h"

#include <fcntl.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <vector>

#include "config/base/status.h"
#include "config/base/unique_fd.h"

namespace inferd::config {
namespace {

constexpr size_t kMaxFileBytes = 4 << 20;

}  // namespace

absl::StatusOr<std::string> ReadSmallFile(const std::string& file) {
  UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return FromErrno(errno, file);
  std::string text;
  char buffer[16384];
  for (;;) {
    const ssize_t count = read(fd.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FromErrno(errno, file);
    if (count == 0) return text;
    text.append(buffer, static_cast<size_t>(count));
    if (text.size() > kMaxFileBytes) return InvalidArgument("{}: larger than {} bytes", file, kMaxFileBytes);
  }
}

YAML::Node LoadSingleDocument(const std::string& text) {
  const std::vector<YAML::Node> documents = YAML::LoadAll(text);
  for (size_t i = 1; i < documents.size(); ++i) {
    if (documents[i].IsNull()) continue;
    throw YAML::ParserException(documents[i].Mark(), "a second document begins here, expected one in a file");
  }
  return documents.empty() ? YAML::Node() : documents.front();
}

}  // namespace inferd::config
