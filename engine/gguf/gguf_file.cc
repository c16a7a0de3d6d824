#include "engine/gguf/gguf_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "config/base/status.h"
#include "engine/gguf/parse.h"
#include "engine/gguf/split_name.h"

namespace inferd::gguf {
namespace {

constexpr std::string_view kTypeNames[] = {"uint8", "int8",   "uint16", "int16",  "uint32", "int32",  "float32",
                                           "bool",  "string", "array",  "uint64", "int64",  "float64"};

// A file of holes costs its author nothing, so that its metadata is read once more, within what the disk holds of it.
absl::Status CheckHoles(const std::string& path, std::span<const uint8_t> bytes) {
  constexpr uint64_t kBlockBytes = 512;  // of st_blocks, whatever the file system's
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return FromErrno(errno, path);
  const uint64_t stored = static_cast<uint64_t>(status.st_blocks) * kBlockBytes;
  return stored >= bytes.size() ? absl::OkStatus() : Annotate(ParsePart(bytes, stored).status(), path);
}

}  // namespace

std::string_view ValueTypeName(ValueType type) {
  const auto index = static_cast<size_t>(type);
  return index < std::size(kTypeNames) ? kTypeNames[index] : "unknown";
}

uint64_t ValueTypeBytes(ValueType type) {
  switch (type) {
    case ValueType::kUint8:
    case ValueType::kInt8:
    case ValueType::kBool:
      return 1;
    case ValueType::kUint16:
    case ValueType::kInt16:
      return 2;
    case ValueType::kUint32:
    case ValueType::kInt32:
    case ValueType::kFloat32:
      return 4;
    case ValueType::kUint64:
    case ValueType::kInt64:
    case ValueType::kFloat64:
      return 8;
    default:
      return 0;
  }
}

absl::StatusOr<std::shared_ptr<const GgufFile>> GgufFile::Open(const std::string& path) {
  std::shared_ptr<GgufFile> file(new GgufFile);
  file->path_ = path;
  ASSIGN_OR_RETURN(MappedFile mapping, MappedFile::Open(path));
  RETURN_IF_ERROR(CheckHoles(path, mapping.bytes()));
  file->mappings_.push_back(std::move(mapping));
  RETURN_IF_ERROR(Annotate(file->AddPart(file->mappings_.back().bytes()), path));
  RETURN_IF_ERROR(file->OpenOtherParts());
  return file;
}

absl::StatusOr<std::shared_ptr<const GgufFile>> GgufFile::Parse(std::span<const uint8_t> bytes, std::string name) {
  std::shared_ptr<GgufFile> file(new GgufFile);
  file->path_ = std::move(name);
  RETURN_IF_ERROR(Annotate(file->AddPart(bytes), file->path_));
  return file;
}

// Takes all tensors of a part, and the metadata of the first.
absl::Status GgufFile::AddPart(std::span<const uint8_t> bytes) {
  ASSIGN_OR_RETURN(Part part, ParsePart(bytes));
  if (version_ == 0) {
    version_ = part.version;
    alignment_ = part.alignment;
    entries_ = std::move(part.entries);
    for (size_t i = 0; i < entries_.size(); ++i) entry_index_.emplace(entries_[i].key, i);
  }
  for (const Tensor& tensor : part.tensors) {
    if (!tensor_index_.emplace(tensor.name, tensors_.size()).second) {
      return InvalidArgument("tensor {}: is in an earlier part too", Printable(tensor.name));
    }
    tensors_.push_back(tensor);
  }
  size_bytes_ += bytes.size();
  return absl::OkStatus();
}

absl::Status GgufFile::OpenOtherParts() {
  ASSIGN_OR_RETURN(const uint64_t count, GetUintOr("split.count", 1));
  if (count <= 1) return absl::OkStatus();
  const std::optional<SplitName> name = ParseSplitName(path_);
  if (!name || name->count != count) {
    return InvalidArgument("{}: is one of {} parts (split.count), expected a name that ends in -00001-of-{:05}.gguf",
                           path_, count, count);
  }
  ASSIGN_OR_RETURN(const uint64_t number, GetUint("split.no"));
  if (number != 0 || name->number != 1) {
    return InvalidArgument("{}: is part {} of {}, expected the first: {}", path_, name->number, count,
                           FormatSplitName({name->prefix, 1, name->count}));
  }
  for (uint32_t i = 2; i <= name->count; ++i) {
    const std::string part_path = FormatSplitName({name->prefix, i, name->count});
    ASSIGN_OR_RETURN(MappedFile mapping, MappedFile::Open(part_path));
    RETURN_IF_ERROR(CheckHoles(part_path, mapping.bytes()));
    mappings_.push_back(std::move(mapping));
    RETURN_IF_ERROR(Annotate(AddPart(mappings_.back().bytes()), part_path));
  }
  ASSIGN_OR_RETURN(const uint64_t tensor_count, GetUintOr("split.tensors.count", tensors_.size()));
  if (tensor_count != tensors_.size()) {
    return InvalidArgument("{}: split.tensors.count is {}, but the parts have {} tensors", path_, tensor_count,
                           tensors_.size());
  }
  return absl::OkStatus();
}

const Entry* GgufFile::Find(std::string_view key) const {
  const auto found = entry_index_.find(key);
  return found == entry_index_.end() ? nullptr : &entries_[found->second];
}

const Tensor* GgufFile::FindTensor(std::string_view name) const {
  const auto found = tensor_index_.find(name);
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace inferd::gguf
