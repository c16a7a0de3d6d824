// A part is: header (magic, version, counts) | metadata | tensor table | padding | tensor data.
#include "engine/gguf/parse.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

#include "config/base/status.h"
#include "engine/gguf/byte_reader.h"
#include "engine/gguf/metadata.h"

namespace inferd::gguf {
namespace {

constexpr uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr uint64_t kSmallestAlignment = 8, kLargestAlignment = 1 << 20;
constexpr uint64_t kLongestTensorName = 64;
constexpr uint64_t kSmallestTensorInfo = 8 + 1 + 4 + 8 + 4 + 8;  // name, n_dims, one dimension, type, offset
constexpr size_t kLongestPrinted = 80;
// What is read of a file takes a few times its bytes in memory (16 for a string of none, which has 8 in the file), so
// the bytes before the tensors' data are bounded: by what real models have, the largest some 30 MiB, and by what the
// disk holds of a file, for holes cost its author nothing. File systems that compress hold less than they give.
constexpr uint64_t kMostHeadBytes = uint64_t{128} << 20;
constexpr uint64_t kUnquestionedBytes = uint64_t{4} << 20;
constexpr uint64_t kMostBytesOfStored = 8;

struct Header {
  uint32_t version;
  uint64_t tensor_count, entry_count;
};

// A row of the tensor table before it is placed.
struct TensorInfo {
  Tensor tensor;
  uint64_t offset;  // from the start of the data
};

absl::StatusOr<Header> ReadHeader(ByteReader& reader) {
  uint32_t magic;
  Header header;
  if (!reader.Read(&magic))
    return InvalidArgument("header: file has {} bytes, expected a GGUF file", reader.remaining());
  if (magic != kMagic) return InvalidArgument("magic: 0x{:08x}, expected 0x{:08x} (\"GGUF\")", magic, kMagic);
  if (!reader.Read(&header.version)) return InvalidArgument("version: file ends before it");
  if (header.version == 0x02000000 || header.version == 0x03000000) {
    return InvalidArgument("version: the file is big-endian, expected little-endian");
  }
  if (header.version != 2 && header.version != 3) {
    return InvalidArgument("version: {}, expected 2 or 3", header.version);
  }
  if (!reader.Read(&header.tensor_count) || !reader.Read(&header.entry_count)) {
    return InvalidArgument("header: file ends within the counts of tensors and metadata entries");
  }
  return header;
}

absl::StatusOr<uint64_t> ReadAlignment(const std::vector<Entry>& entries) {
  const auto entry = std::find_if(entries.begin(), entries.end(),
                                  [](const Entry& candidate) { return candidate.key == "general.alignment"; });
  if (entry == entries.end()) return kDefaultAlignment;
  if (entry->type != ValueType::kUint32) {
    return InvalidArgument("metadata general.alignment: type {}, expected uint32", ValueTypeName(entry->type));
  }
  const uint64_t alignment = std::get<uint64_t>(entry->value);
  if (!std::has_single_bit(alignment) || alignment < kSmallestAlignment || alignment > kLargestAlignment) {
    return InvalidArgument("metadata general.alignment: {}, expected a power of two in {}..{}", alignment,
                           kSmallestAlignment, kLargestAlignment);
  }
  return alignment;
}

absl::Status ReadDimensions(ByteReader& reader, Tensor& tensor) {
  if (tensor.n_dims < 1 || tensor.n_dims > 4) {
    return InvalidArgument("tensor {}: {} dimensions, expected 1..4", Printable(tensor.name), tensor.n_dims);
  }
  tensor.dims = {1, 1, 1, 1};
  uint64_t elements = 1;
  for (uint32_t d = 0; d < tensor.n_dims; ++d) {
    if (!reader.Read(&tensor.dims[d])) {
      return InvalidArgument("tensor {}: file ends within the dimensions", Printable(tensor.name));
    }
    if (tensor.dims[d] == 0) {
      return InvalidArgument("tensor {}: dimension {} is 0, expected at least 1", Printable(tensor.name), d);
    }
    if (__builtin_mul_overflow(elements, tensor.dims[d], &elements) || elements > INT64_MAX) {
      return InvalidArgument("tensor {}: the product of the dimensions overflows at dimension {} ({})",
                             Printable(tensor.name), d, tensor.dims[d]);
    }
  }
  return absl::OkStatus();
}

// Sets type and size in bytes.
absl::Status SetType(uint32_t type_number, Tensor& tensor) {
  const kernels::TypeTraits* traits = kernels::FindTensorType(type_number);
  if (traits == nullptr) {
    return InvalidArgument("tensor {}: type {} is unknown or not supported", Printable(tensor.name), type_number);
  }
  if (tensor.dims[0] % traits->block_elements != 0) {
    return InvalidArgument("tensor {}: row of {} elements, expected a multiple of {} for type {}",
                           Printable(tensor.name), tensor.dims[0], traits->block_elements, traits->name);
  }
  tensor.type = traits->type;
  if (__builtin_mul_overflow(tensor.elements() / traits->block_elements, uint64_t{traits->block_bytes},
                             &tensor.bytes)) {
    return InvalidArgument("tensor {}: size in bytes overflows", Printable(tensor.name));
  }
  return absl::OkStatus();
}

absl::StatusOr<TensorInfo> ReadTensorInfo(ByteReader& reader, uint64_t index, uint64_t alignment) {
  TensorInfo info{};
  Tensor& tensor = info.tensor;
  if (!reader.ReadString(&tensor.name)) {
    return InvalidArgument("tensor {}: name reaches beyond the end of the file", index);
  }
  if (tensor.name.empty() || tensor.name.size() > kLongestTensorName) {
    return InvalidArgument("tensor {}: name has {} bytes, expected 1..{}", index, tensor.name.size(),
                           kLongestTensorName);
  }
  if (!reader.Read(&tensor.n_dims)) {
    return InvalidArgument("tensor {}: file ends before the number of dimensions", Printable(tensor.name));
  }
  RETURN_IF_ERROR(ReadDimensions(reader, tensor));
  uint32_t type_number;
  if (!reader.Read(&type_number) || !reader.Read(&info.offset)) {
    return InvalidArgument("tensor {}: file ends before type and offset", Printable(tensor.name));
  }
  RETURN_IF_ERROR(SetType(type_number, tensor));
  if (info.offset % alignment != 0) {
    return InvalidArgument("tensor {}: offset {} is not a multiple of alignment {}", Printable(tensor.name),
                           info.offset, alignment);
  }
  return info;
}

absl::StatusOr<std::vector<TensorInfo>> ReadTensorTable(ByteReader& reader, uint64_t count, uint64_t alignment) {
  if (!reader.Has(count, kSmallestTensorInfo)) {
    return InvalidArgument("header: {} tensors declared, but only {} bytes follow", count, reader.remaining());
  }
  std::vector<TensorInfo> infos;
  std::unordered_set<std::string_view> names;
  for (uint64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(TensorInfo info, ReadTensorInfo(reader, i, alignment));
    if (!names.insert(info.tensor.name).second) {
      return InvalidArgument("tensor {}: name occurs twice", Printable(info.tensor.name));
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

// Gives each tensor its bytes in the file: within it, and apart from every other tensor.
absl::Status PlaceTensors(std::span<const uint8_t> bytes, uint64_t data_begin, std::vector<TensorInfo>& infos) {
  const uint64_t data_bytes = bytes.size() > data_begin ? bytes.size() - data_begin : 0;
  std::vector<const TensorInfo*> by_offset;
  for (TensorInfo& info : infos) {
    if (info.offset > data_bytes || info.tensor.bytes > data_bytes - info.offset) {
      return InvalidArgument("tensor {}: {} bytes at offset {} reach beyond the end of the file ({} bytes of data)",
                             Printable(info.tensor.name), info.tensor.bytes, info.offset, data_bytes);
    }
    info.tensor.data = bytes.data() + data_begin + info.offset;
    by_offset.push_back(&info);
  }
  std::sort(by_offset.begin(), by_offset.end(),
            [](const TensorInfo* a, const TensorInfo* b) { return a->offset < b->offset; });
  for (size_t i = 1; i < by_offset.size(); ++i) {
    const TensorInfo& before = *by_offset[i - 1];
    if (before.offset + before.tensor.bytes > by_offset[i]->offset) {
      return InvalidArgument("tensor {}: overlaps tensor {} at offset {}", Printable(by_offset[i]->tensor.name),
                             Printable(before.tensor.name), by_offset[i]->offset);
    }
  }
  return absl::OkStatus();
}

// All but the tensors' data, for which `reader` is made.
absl::StatusOr<Part> ReadHead(ByteReader& reader, std::span<const uint8_t> bytes) {
  ASSIGN_OR_RETURN(const Header header, ReadHeader(reader));
  Part part;
  part.version = header.version;
  ASSIGN_OR_RETURN(part.entries, ReadMetadata(reader, header.entry_count));
  ASSIGN_OR_RETURN(part.alignment, ReadAlignment(part.entries));
  ASSIGN_OR_RETURN(std::vector<TensorInfo> infos, ReadTensorTable(reader, header.tensor_count, part.alignment));
  const uint64_t data_begin = (reader.position() + part.alignment - 1) / part.alignment * part.alignment;
  RETURN_IF_ERROR(PlaceTensors(bytes, data_begin, infos));
  for (TensorInfo& info : infos) part.tensors.push_back(std::move(info.tensor));
  return part;
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kLongestPrinted)) {
    if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  if (text.size() > kLongestPrinted) out += "...";
  return out;
}

absl::StatusOr<Part> ParsePart(std::span<const uint8_t> bytes, uint64_t stored_bytes) {
  const uint64_t stored = stored_bytes > kAllStored / kMostBytesOfStored
                              ? kAllStored
                              : std::max(kUnquestionedBytes, stored_bytes * kMostBytesOfStored);
  const uint64_t most = std::min({uint64_t{bytes.size()}, stored, kMostHeadBytes});
  ByteReader reader(bytes.first(most));
  absl::StatusOr<Part> part = ReadHead(reader, bytes);
  if (part.ok() || !reader.missed() || most == bytes.size()) return part;
  if (most == kMostHeadBytes) {
    return InvalidArgument("{}; metadata and tensor table may take {} bytes in all", MessageOf(part.status()), most);
  }
  return InvalidArgument("{}; the file has {} bytes, but only {} of them are on the disk: it is sparse",
                         MessageOf(part.status()), bytes.size(), stored_bytes);
}

}  // namespace inferd::gguf
