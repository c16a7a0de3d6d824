// Exceptions of the yaml-cpp library begin and pass here.
#include "config/yaml_text.h"

#include <fcntl.h>
#include <unistd.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <sstream>

#include "config/base/status.h"
#include "config/base/unique_fd.h"

namespace inferd::config {
namespace {

constexpr size_t kMaxFileBytes = 4 << 20;

// Ends the parsing at the second document that has something in it. (YAML::LoadAll would go on: of some texts that are
// no YAML it makes documents without end.)
class SecondDocumentFinder : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override { ++documents_; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { Found(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t, const std::string&) override {
    Found(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    Found(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    Found(mark);
  }
  void OnMapEnd() override {}

 private:
  void Found(const YAML::Mark& mark) const {
    if (documents_ > 1) throw YAML::ParserException(mark, "a second document begins here, expected one in a file");
  }

  size_t documents_ = 0;
};

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
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  SecondDocumentFinder finder;
  for (size_t documents = 0; parser.HandleNextDocument(finder); ++documents) {
    if (documents > text.size()) throw YAML::ParserException(YAML::Mark(), "is no YAML");
  }
  return YAML::Load(text);
}

}  // namespace inferd::config
