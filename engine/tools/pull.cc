// inferd-model pull SOURCE: fetches a model, goes on after an interruption, checks it and puts it in place at once.
#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/base/command_line.h"
#include "config/base/print.h"
#include "config/base/status.h"
#include "config/base/unique_fd.h"
#include "config/base/write_all.h"
#include "config/load.h"
#include "engine/gguf/gguf_file.h"
#include "engine/tools/http_fetch.h"
#include "engine/tools/model_source.h"
#include "engine/tools/progress.h"
#include "engine/tools/verbs.h"

namespace inferd::tools {
namespace {

namespace fs = std::filesystem;

constexpr int kMostTries = 5;  // in a row without a new byte
constexpr size_t kReadBytes = 4 << 20;

struct Options {
  std::string source;
  std::string output = ".";
  std::string config_file;
  std::string hub, token_file;  // empty: as the configuration says
  std::string sha256;
  bool as_json = false;
};

// An unfinished download: NAME.part, and NAME.part.etag that says of which version.
class PartFile {
 public:
  static absl::StatusOr<PartFile> Open(const std::string& target) {
    PartFile part(target + ".part");
    part.fd_ = UniqueFd(open(part.path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    if (!part.fd_) return FromErrno(errno, part.path_);
    struct stat status;
    if (fstat(part.fd_.get(), &status) != 0) return FromErrno(errno, part.path_);
    std::ifstream(part.path_ + ".etag") >> part.etag_;
    // Bytes of an unknown version cannot be gone on from.
    RETURN_IF_ERROR(part.Restart(part.etag_.empty() ? 0 : static_cast<uint64_t>(status.st_size)));
    return part;
  }

  uint64_t size() const { return size_; }
  const std::string& etag() const { return etag_; }

  absl::Status Restart(uint64_t size) {
    if (ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) return FromErrno(errno, path_);
    if (lseek(fd_.get(), static_cast<off_t>(size), SEEK_SET) < 0) return FromErrno(errno, path_);
    size_ = size;
    return absl::OkStatus();
  }

  absl::Status SetEtag(const std::string& etag) {
    etag_ = etag;
    std::ofstream file(path_ + ".etag", std::ios::trunc);
    file << etag;
    return file.flush() ? absl::OkStatus() : FailedPrecondition("{}.etag: cannot be written", path_);
  }

  absl::Status Write(std::span<const uint8_t> bytes) {
    size_ += bytes.size();
    return WriteAll(fd_.get(), bytes, path_);
  }

  absl::Status MoveTo(const std::string& target) {
    if (fsync(fd_.get()) != 0) return FromErrno(errno, path_);
    if (rename(path_.c_str(), target.c_str()) != 0) return FromErrno(errno, target);
    unlink((path_ + ".etag").c_str());
    return absl::OkStatus();
  }

  void Discard() {
    unlink(path_.c_str());
    unlink((path_ + ".etag").c_str());
  }

  const std::string& path() const { return path_; }

 private:
  explicit PartFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
  UniqueFd fd_;
  uint64_t size_ = 0;
  std::string etag_;
};

absl::StatusOr<std::string> Sha256Of(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return FromErrno(errno, path);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr);
  Progress progress("checking", fs::file_size(path));
  std::vector<uint8_t> buffer(kReadBytes);
  while (const ssize_t size = read(fd.get(), buffer.data(), buffer.size())) {
    if (size < 0) return FromErrno(errno, path);
    EVP_DigestUpdate(digest.get(), buffer.data(), static_cast<size_t>(size));
    progress.Advance(static_cast<uint64_t>(size));
  }
  uint8_t bytes[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  EVP_DigestFinal_ex(digest.get(), bytes, &length);
  return fmt::format("{:02x}", fmt::join(bytes, bytes + length, ""));
}

// One try: from where the part ends, or from the start if the server has another version or no ranges.
absl::Status FetchOnce(const RemoteFile& file, const HttpFetch& http, PartFile& part,
                       std::optional<Progress>& progress) {
  const uint64_t wanted = part.size();
  const HttpFetch::Sink sink = {[&](const FetchHead& head) -> absl::Status {
                                  if (head.first_byte != (head.status == 206 ? wanted : 0)) {
                                    return Unavailable("{}: the server sent bytes from {} on, expected from {}",
                                                       file.url, head.first_byte, wanted);
                                  }
                                  if (file.bytes != 0 && head.total_bytes != 0 && head.total_bytes != file.bytes) {
                                    return FailedPrecondition("{}: the server says {} bytes, expected {}", file.url,
                                                              head.total_bytes, file.bytes);
                                  }
                                  RETURN_IF_ERROR(part.Restart(head.first_byte));
                                  RETURN_IF_ERROR(part.SetEtag(head.etag));
                                  progress.emplace(file.name, file.bytes != 0 ? file.bytes : head.total_bytes);
                                  progress->Advance(head.first_byte);
                                  return absl::OkStatus();
                                },
                                [&](std::span<const uint8_t> bytes) -> absl::Status {
                                  if (file.bytes != 0 && part.size() + bytes.size() > file.bytes) {
                                    return FailedPrecondition("{}: the server sends more than the expected {} bytes",
                                                              file.url, file.bytes);
                                  }
                                  progress->Advance(bytes.size());
                                  return part.Write(bytes);
                                }};
  return http.Get(file.url, {.offset = wanted, .if_range = part.etag()}, sink);
}

// Tries until the whole file is there, as long as new bytes come.
absl::Status Fetch(const RemoteFile& file, const HttpFetch& http, PartFile& part) {
  std::optional<Progress> progress;
  absl::Status status;
  for (int tries = 0; tries < kMostTries; ++tries) {
    const uint64_t before = part.size();
    status = FetchOnce(file, http, part, progress);
    if (status.ok() && file.bytes != 0 && part.size() < file.bytes) {
      status = Unavailable("{}: the body ended after {} of {} bytes", file.url, part.size(), file.bytes);
    }
    if (absl::IsOutOfRange(status)) {  // the remote file has become shorter
      RETURN_IF_ERROR(part.Restart(0));
    } else if (status.ok() || !absl::IsUnavailable(status)) {
      return status;
    }
    if (part.size() > before) tries = -1;
  }
  return Annotate(status, fmt::format("gave up after {} tries without a new byte ({} are kept for the next run)",
                                      kMostTries, part.size()));
}

absl::Status CopyLocal(const RemoteFile& file, PartFile& part) {
  const UniqueFd from(open(file.url.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!from) return FromErrno(errno, file.url);
  struct stat status;
  if (fstat(from.get(), &status) != 0) return FromErrno(errno, file.url);
  if (!S_ISREG(status.st_mode)) return InvalidArgument("{}: is no regular file", file.url);
  RETURN_IF_ERROR(part.Restart(0));
  Progress progress(file.name, static_cast<uint64_t>(status.st_size));
  std::vector<uint8_t> buffer(kReadBytes);
  while (const ssize_t size = read(from.get(), buffer.data(), buffer.size())) {
    if (size < 0) return FromErrno(errno, file.url);
    RETURN_IF_ERROR(part.Write({buffer.data(), static_cast<size_t>(size)}));
    progress.Advance(static_cast<uint64_t>(size));
  }
  return absl::OkStatus();
}

// Checksum, then whether it is a GGUF file at all. What is wrong is not kept.
absl::Status CheckPart(const RemoteFile& file, PartFile& part, std::string& digest, bool single) {
  ASSIGN_OR_RETURN(digest, Sha256Of(part.path()));
  if (!file.sha256.empty() && digest != file.sha256) {
    part.Discard();
    return DataLoss("{}: sha256 is {}, expected {}", file.url, digest, file.sha256);
  }
  if (!single) return absl::OkStatus();
  const absl::Status status = gguf::GgufFile::Open(part.path()).status();
  if (!status.ok()) part.Discard();
  return status;
}

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  if (path.empty()) return "";
  std::string token;
  if (!(std::ifstream(path) >> token)) return NotFound("token file {}: cannot be read or is empty", path);
  return token;
}

// 64 hex digits, in lower case.
absl::StatusOr<std::string> ParseDigest(std::string_view text) {
  std::string digest(text);
  for (char& c : digest) {
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0)
      return InvalidArgument("'{}' has other than hex digits", text);
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (digest.size() != 64) return InvalidArgument("'{}' has {} digits, expected 64", text, digest.size());
  return digest;
}

// The hub of the configuration, but what the command line says.
absl::StatusOr<config::HubOptions> HubOf(const Options& options) {
  config::HubOptions hub;
  if (!options.config_file.empty()) {
    ASSIGN_OR_RETURN(const config::Config config, config::LoadConfig(options.config_file));
    hub = config.hub;
  }
  if (!options.hub.empty()) hub.address = options.hub;
  if (!options.token_file.empty()) hub.token_file = options.token_file;
  return hub;
}

absl::Status Pull(const Options& options) {
  ASSIGN_OR_RETURN(const ModelSource source, ParseSource(options.source));
  ASSIGN_OR_RETURN(const config::HubOptions hub, HubOf(options));
  ASSIGN_OR_RETURN(const std::string token, ReadToken(hub.token_file));
  const HttpFetch http({.bearer_token = token});
  ASSIGN_OR_RETURN(std::vector<RemoteFile> files, ResolveSource(source, hub.address, http));
  if (!options.sha256.empty()) {
    if (files.size() != 1) return InvalidArgument("--sha256: the model has {} parts, expected one", files.size());
    ASSIGN_OR_RETURN(files[0].sha256, ParseDigest(options.sha256));
  }
  std::error_code error;
  fs::create_directories(options.output, error);
  if (error) return FromErrno(error.value(), fmt::format("--output {}", options.output));
  boost::json::array done;
  for (const RemoteFile& file : files) {
    const std::string target = (fs::path(options.output) / file.name).string();
    if (source.kind == ModelSource::Kind::kPath && fs::equivalent(file.url, target, error)) {
      return AlreadyExists("{}: source and target are the same file", target);
    }
    ASSIGN_OR_RETURN(PartFile part, PartFile::Open(target));
    RETURN_IF_ERROR(source.kind == ModelSource::Kind::kPath ? CopyLocal(file, part) : Fetch(file, http, part));
    std::string digest;
    RETURN_IF_ERROR(CheckPart(file, part, digest, files.size() == 1));
    RETURN_IF_ERROR(part.MoveTo(target));
    done.push_back({{"path", target}, {"bytes", part.size()}, {"sha256", digest}});
    if (!options.as_json) Print("{}\n", target);
  }
  if (options.as_json) Print("{}\n", boost::json::serialize(done));
  return absl::OkStatus();
}

}  // namespace

void AddPull(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = program.add_subcommand("pull", "Fetches a model, resuming an interrupted download, and checks it.");
  verb->add_option("SOURCE", options->source, "https://.../NAME.gguf, a path, or hf:OWNER/REPOSITORY[:QUANT]")
      ->required()
      ->check(ReadBy(ParseSource));
  verb->add_option("--output", options->output, "folder to put it in")->capture_default_str();
  verb->add_option("--config", options->config_file, "inferd's configuration, for the section hub");
  verb->add_option("--hub", options->hub, "address of the hub (default: the configuration's, or huggingface.co)");
  verb->add_option("--token-file", options->token_file, "file with the hub's access token");
  verb->add_option("--sha256", options->sha256, "checksum that the file must have (hex)")->check(ReadBy(ParseDigest));
  verb->add_flag("--json", options->as_json, "print JSON");
  verb->callback([options, &action] { action = [options] { return Pull(*options); }; });
}

}  // namespace inferd::tools
