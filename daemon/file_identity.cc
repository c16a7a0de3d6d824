#include "daemon/file_identity.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "config/base/status.h"
#include "config/base/unique_fd.h"

namespace inferd::daemon {
namespace {

constexpr size_t kHeaderBytes = 64 << 10;

// FNV-1a, 64 bits: finds accidental change; device, inode, size and time stand beside it.
uint64_t Digest(std::string_view bytes) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

constexpr std::string_view kFirstOf = "-00001-of-";
constexpr size_t kDigits = 5;
constexpr std::string_view kEnding = ".gguf";

// The number of parts of a model of which `path` is the first file; 1 for every other file.
uint32_t PartsOf(std::string_view path) {
  if (!path.ends_with(kEnding)) return 1;
  path.remove_suffix(kEnding.size());
  if (path.size() < kFirstOf.size() + kDigits) return 1;
  const std::string_view count = path.substr(path.size() - kDigits);
  if (!path.substr(0, path.size() - kDigits).ends_with(kFirstOf)) return 1;
  uint32_t parts = 0;
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), parts);
  return error == std::errc() && end == count.data() + count.size() ? std::max(parts, 1u) : 1;
}

std::string PathOfPart(const std::string& first, uint32_t part) {
  std::string path = first;
  const size_t digits = path.size() - kEnding.size() - kDigits - kFirstOf.size() + 1;
  return path.replace(digits, kDigits, fmt::format("{:05}", part));
}

// All that tells the file from others.
std::string Spelled(const FileIdentity& file) {
  return fmt::format("{} {} {} {} {}", file.device, file.inode, file.size_bytes, file.changed_nanoseconds,
                     file.header_digest);
}

absl::Status CheckBeginning(const std::string& path) {
  constexpr std::string_view kMagic = "GGUF";
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return FromErrno(errno, path);
  std::string beginning(kMagic.size(), '\0');
  const ssize_t count = pread(fd.get(), beginning.data(), beginning.size(), 0);
  if (count < 0) return FromErrno(errno, path);
  if (count == static_cast<ssize_t>(kMagic.size()) && beginning == kMagic) return absl::OkStatus();
  return InvalidArgument("{}: is no GGUF file, it does not begin with \"{}\"", path, kMagic);
}

absl::Status CheckParts(const std::string& path) {
  const uint32_t parts = PartsOf(path);
  for (uint32_t part = 1; part <= parts; ++part) {
    RETURN_IF_ERROR(CheckBeginning(part == 1 ? path : PathOfPart(path, part)));
  }
  return absl::OkStatus();
}

absl::StatusOr<FileIdentity> IdentifyOne(const std::string& path) {
  // Not blocking: opening a FIFO would wait for a writer.
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return FromErrno(errno, path);
  struct stat file;
  if (fstat(fd.get(), &file) != 0) return FromErrno(errno, path);
  if (!S_ISREG(file.st_mode)) return InvalidArgument("{}: not a regular file", path);
  std::string header(kHeaderBytes, '\0');
  const ssize_t count = pread(fd.get(), header.data(), header.size(), 0);
  if (count < 0) return FromErrno(errno, path);
  header.resize(static_cast<size_t>(count));
  return FileIdentity{.device = file.st_dev,
                      .inode = file.st_ino,
                      .size_bytes = static_cast<uint64_t>(file.st_size),
                      .changed_nanoseconds = file.st_mtim.tv_sec * 1'000'000'000 + file.st_mtim.tv_nsec,
                      .header_digest = Digest(header)};
}

}  // namespace

absl::StatusOr<FileIdentity> IdentifyFile(const std::string& path) {
  ASSIGN_OR_RETURN(FileIdentity all, IdentifyOne(path));
  const uint32_t parts = PartsOf(path);
  for (uint32_t part = 2; part <= parts; ++part) {
    ASSIGN_OR_RETURN(const FileIdentity next, IdentifyOne(PathOfPart(path, part)));
    all.size_bytes += next.size_bytes;
    all.changed_nanoseconds = std::max(all.changed_nanoseconds, next.changed_nanoseconds);
    all.header_digest = Digest(fmt::format("{} {}", all.header_digest, Spelled(next)));
  }
  return all;
}

absl::StatusOr<FileIdentity> IdentifyModel(const config::ModelOptions& model) {
  ASSIGN_OR_RETURN(FileIdentity identity, IdentifyFile(model.path));
  if (!model.chat_template_file.empty()) {
    const absl::StatusOr<FileIdentity> own = IdentifyOne(model.chat_template_file);
    if (!own.ok()) return AtField("chat_template_file", own.status());
    identity.template_digest = Digest(Spelled(*own));
  }
  if (model.speculation.kind != config::SpeculationKind::kDraft) return identity;
  const absl::StatusOr<FileIdentity> draft = IdentifyFile(model.speculation.draft_path);
  if (!draft.ok()) return AtField("speculation.draft_path", draft.status());
  identity.draft_size_bytes = draft->size_bytes;
  identity.draft_digest = Digest(Spelled(*draft));
  return identity;
}

absl::Status CheckModelFiles(const config::ModelOptions& model) {
  RETURN_IF_ERROR(CheckParts(model.path));
  if (model.speculation.kind != config::SpeculationKind::kDraft) return absl::OkStatus();
  const absl::Status draft = CheckParts(model.speculation.draft_path);
  return draft.ok() ? draft : AtField("speculation.draft_path", draft);
}

bool IsAnotherFile(const FileIdentity& started, const std::string& program) {
  const absl::StatusOr<FileIdentity> present = IdentifyFile(program);
  return present.ok() && started != FileIdentity() && started != *present;
}

}  // namespace inferd::daemon
