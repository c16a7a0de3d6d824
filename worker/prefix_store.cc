// A file is a head of 32 bytes and a stream of engine/cache/saved_prefixes.h.
#include "worker/prefix_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <span>

#include "config/base/status.h"
#include "config/base/write_all.h"

namespace inferd::worker {
namespace {

struct FileHead {
  uint64_t magic = 0x31766678'64666E69;  // of this format; another order of bytes reads otherwise
  uint64_t sequence = 0;                 // the newer file has the larger one; 0: none was written
  uint64_t bytes = 0;                    // of the stream
  uint64_t checksum = 0;

  uint64_t Checksum() const {
    return cache::SipHash({}, {reinterpret_cast<const uint8_t*>(this), offsetof(FileHead, checksum)});
  }
};

template <typename T>
std::span<uint8_t> BytesOf(T& value) {
  return {reinterpret_cast<uint8_t*>(&value), sizeof(value)};
}

// Of this descriptor, whatever else this process opens; flock(2) would be one more call for the sandbox to allow.
bool Lock(int fd, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

class Locked {
 public:
  Locked(int fd, short type) : fd_(Lock(fd, type) ? fd : -1) {}
  ~Locked() {
    if (fd_ >= 0) Lock(fd_, F_UNLCK);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  explicit operator bool() const { return fd_ >= 0; }

 private:
  const int fd_;
};

absl::Status ReadAt(int fd, std::span<uint8_t> bytes, int64_t& offset) {
  while (!bytes.empty()) {
    const ssize_t got = pread(fd, bytes.data(), bytes.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FromErrno(errno, "reading");
    if (got == 0) return DataLoss("it ends at byte {}", offset);
    offset += got;
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
  return absl::OkStatus();
}

std::optional<FileHead> ReadHead(int fd) {
  FileHead head;
  int64_t offset = 0;
  if (!ReadAt(fd, BytesOf(head), offset).ok()) return std::nullopt;
  if (head.magic != FileHead().magic || head.checksum != head.Checksum() || head.sequence == 0) return std::nullopt;
  return head;
}

// Whether the file is empty or of this kind, whole or torn: a write begins with a head without a sequence, and a file
// as short as that may have lost it to zeros.
absl::StatusOr<bool> IsOurs(int fd) {
  std::array<uint8_t, sizeof(FileHead) + 1> bytes;
  const ssize_t got = pread(fd, bytes.data(), bytes.size(), 0);
  if (got < 0) return FromErrno(errno, "reading");
  const auto begin = std::span(bytes).first(static_cast<size_t>(got));
  const bool is_short = begin.size() <= sizeof(FileHead);
  if (is_short && std::all_of(begin.begin(), begin.end(), [](uint8_t byte) { return byte == 0; })) return true;
  FileHead ours;
  const auto magic = BytesOf(ours).first(std::min(begin.size(), sizeof(ours.magic)));
  return std::equal(magic.begin(), magic.end(), begin.begin());
}

class FileSource : public cache::ByteSource {
 public:
  FileSource(int fd, uint64_t bytes) : fd_(fd), left_(bytes) {}
  absl::Status Read(std::span<uint8_t> bytes) override {
    if (bytes.size() > left_) return DataLoss("its stream ends at byte {}", offset_);
    left_ -= bytes.size();
    return ReadAt(fd_, bytes, offset_);
  }

 private:
  const int fd_;
  uint64_t left_;
  int64_t offset_ = sizeof(FileHead);
};

class FileSink : public cache::ByteSink {
 public:
  FileSink(int fd, const std::string& path) : fd_(fd), path_(path) {}
  absl::Status Write(std::span<const uint8_t> bytes) override { return WriteAll(fd_, bytes, path_); }

 private:
  const int fd_;
  const std::string& path_;
};

absl::Status WriteHead(int fd, const FileHead& head, const std::string& path) {
  if (lseek(fd, 0, SEEK_SET) < 0) return FromErrno(errno, path);
  FileHead copy = head;
  return WriteAll(fd, BytesOf(copy), path);
}

// The head that says so is written when all else is.
absl::StatusOr<cache::SavedPrefixes> WriteFile(int fd, const std::string& path, uint64_t sequence,
                                               cache::KvCache& cache, std::string_view identity, uint64_t most_bytes) {
  RETURN_IF_ERROR(WriteHead(fd, {.sequence = 0}, path));
  FileSink sink(fd, path);
  ASSIGN_OR_RETURN(const cache::SavedPrefixes saved,
                   cache.SavePrefixes(identity, static_cast<int64_t>(most_bytes - sizeof(FileHead)), sink));
  FileHead head{.sequence = sequence, .bytes = static_cast<uint64_t>(saved.bytes)};
  head.checksum = head.Checksum();
  RETURN_IF_ERROR(WriteHead(fd, head, path));
  return saved;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PrefixStore>> PrefixStore::Open(const std::string& path) {
  std::array<Slot, 2> slots{Slot{.path = path}, Slot{.path = path + ".2"}};
  for (Slot& slot : slots) {
    // Neither a link nor a pipe that would wait for its other end.
    slot.fd.Reset(open(slot.path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
    if (!slot.fd) return FromErrno(errno, slot.path);
    struct stat status;
    if (fstat(slot.fd.get(), &status) != 0) return FromErrno(errno, slot.path);
    if (!S_ISREG(status.st_mode)) return InvalidArgument("{}: it is no regular file", slot.path);
    ASSIGN_OR_RETURN(const bool ours, IsOurs(slot.fd.get()));
    if (!ours) return InvalidArgument("{}: it holds something else than saved prefixes, and stays as it is", slot.path);
    if (fchmod(slot.fd.get(), 0600) != 0) return FromErrno(errno, slot.path);
  }
  return std::unique_ptr<PrefixStore>(new PrefixStore(std::move(slots)));
}

absl::StatusOr<cache::SavedPrefixes> PrefixStore::Load(cache::KvCache& cache, std::string_view identity,
                                                       MonotonicTime deadline, const Clock& clock) {
  const std::optional<FileHead> heads[] = {ReadHead(slots_[0].fd.get()), ReadHead(slots_[1].fd.get())};
  const auto sequence = [&](size_t i) { return heads[i] ? heads[i]->sequence : 0; };
  const size_t newer = sequence(1) > sequence(0) ? 1 : 0;
  absl::Status first_error;
  for (size_t i : {newer, 1 - newer}) {
    const Slot& slot = slots_[i];
    const auto fail = [&](const absl::Status& status) { first_error.Update(Annotate(status, slot.path)); };
    const Locked lock(slot.fd.get(), F_RDLCK);
    if (!lock) {
      fail(Unavailable("another worker writes it"));
    } else if (!heads[i]) {
      if (lseek(slot.fd.get(), 0, SEEK_END) > 0) fail(DataLoss("it was not written to its end"));
    } else {
      FileSource source(slot.fd.get(), heads[i]->bytes);
      auto loaded = cache.LoadPrefixes(identity, source, [&] { return clock.Now() >= deadline; });
      if (loaded.ok()) return loaded;
      fail(loaded.status());
    }
  }
  if (!first_error.ok()) return first_error;
  return cache::SavedPrefixes{};
}

absl::StatusOr<cache::SavedPrefixes> PrefixStore::Save(cache::KvCache& cache, std::string_view identity,
                                                       uint64_t most_bytes) {
  const std::optional<FileHead> heads[] = {ReadHead(slots_[0].fd.get()), ReadHead(slots_[1].fd.get())};
  const auto sequence = [&](size_t i) { return heads[i] ? heads[i]->sequence : 0; };
  const size_t older = sequence(1) < sequence(0) ? 1 : 0;
  const uint64_t next = std::max(sequence(0), sequence(1)) + 1;
  for (size_t i : {older, 1 - older}) {
    const Locked lock(slots_[i].fd.get(), F_WRLCK);
    if (lock) return WriteFile(slots_[i].fd.get(), slots_[i].path, next, cache, identity, most_bytes);
  }
  return Unavailable("{}: other workers write it", slots_[0].path);
}

}  // namespace inferd::worker
