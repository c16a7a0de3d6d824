#include "engine/quantize/importance.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "config/base/status.h"
#include "engine/gguf/byte_reader.h"
#include "engine/gguf/mapped_file.h"
#include "engine/gguf/parse.h"

namespace inferd::quantize {
namespace {

using gguf::GgufFile;
using gguf::Printable;
using gguf::Tensor;

constexpr std::string_view kSums = ".in_sum2", kCounts = ".counts";

bool StartsWithMagic(std::span<const uint8_t> bytes) {
  return bytes.size() >= 4 && std::memcmp(bytes.data(), "GGUF", 4) == 0;
}

absl::Status CheckFloats(const Tensor& tensor) {
  if (tensor.type == kernels::TensorType::kF32) return absl::OkStatus();
  return InvalidArgument("{}: is of type {}, expected F32", Printable(tensor.name),
                         kernels::TraitsOf(tensor.type).name);
}

float FloatAt(const uint8_t* bytes, uint64_t i) {
  float value;
  std::memcpy(&value, bytes + 4 * i, sizeof value);
  return value;
}

}  // namespace

absl::StatusOr<Importance> Importance::Read(const std::string& path) {
  ASSIGN_OR_RETURN(const gguf::MappedFile file, gguf::MappedFile::Open(path));
  return Parse(file.bytes(), path);
}

absl::StatusOr<Importance> Importance::Parse(std::span<const uint8_t> bytes, const std::string& path) {
  Importance out;
  out.path_ = path;
  absl::Status status;
  if (StartsWithMagic(bytes)) {
    ASSIGN_OR_RETURN(const std::shared_ptr<const GgufFile> gguf, GgufFile::Parse(bytes, path));
    status = out.ReadGguf(*gguf);
  } else {
    status = out.ReadBinary(bytes);
  }
  if (status.ok() && out.entries_.empty()) {
    status = InvalidArgument("has no entries, expected the output of an imatrix run");
  }
  if (!status.ok()) return Annotate(status, path);
  return out;
}

absl::Status Importance::Add(std::string_view name, Entry entry) {
  for (size_t i = 0; i < entry.values.size(); ++i) {
    const float value = entry.values[i];
    if (std::isfinite(value) && value >= 0) continue;
    return InvalidArgument("{}: value {} is {}, expected a finite number of at least 0", Printable(name), i, value);
  }
  if (!entries_.emplace(std::string(name), std::move(entry)).second) {
    return InvalidArgument("{}: appears twice", Printable(name));
  }
  return absl::OkStatus();
}

absl::Status Importance::ReadGguf(const GgufFile& file) {
  for (const Tensor& sums : file.tensors()) {
    if (!sums.name.ends_with(kSums)) continue;
    const std::string name(sums.name.substr(0, sums.name.size() - kSums.size()));
    const Tensor* counts = file.FindTensor(name + std::string(kCounts));
    if (counts == nullptr)
      return InvalidArgument("{}: has sums but no {}{}", Printable(name), Printable(name), kCounts);
    RETURN_IF_ERROR(CheckFloats(sums));
    RETURN_IF_ERROR(CheckFloats(*counts));
    const uint64_t columns = sums.dims[0], experts = counts->elements();
    if (columns == 0 || sums.elements() != columns * experts) {
      return InvalidArgument("{}: {} sums of {} columns and {} counts, expected a count for each row of sums",
                             Printable(name), sums.elements(), columns, experts);
    }
    Entry entry;
    for (uint64_t expert = 0; expert < experts; ++expert) {
      const float count = FloatAt(counts->data, expert);
      if (!(count >= 0) || !std::isfinite(count)) {
        return InvalidArgument("{}: count {} is {}, expected a finite number of at least 0", Printable(name), expert,
                               count);
      }
      entry.known.push_back(count > 0);
      for (uint64_t i = 0; i < columns; ++i) {
        entry.values.push_back(count > 0 ? FloatAt(sums.data, expert * columns + i) / count : 0.0f);
      }
    }
    RETURN_IF_ERROR(Add(name, std::move(entry)));
  }
  return absl::OkStatus();
}

// i32 entries, then for each: i32 length of its name, the name, i32 calls, i32 values, values as f32 times calls. What
// follows (calls, name of the text) does not matter here.
absl::Status Importance::ReadBinary(std::span<const uint8_t> bytes) {
  gguf::ByteReader reader(bytes);
  const auto cut = [] { return InvalidArgument("ends within an entry, or is no imatrix file"); };
  int32_t entries;
  if (!reader.Read(&entries)) return cut();
  for (int32_t i = 0; i < entries; ++i) {
    int32_t name_bytes, calls, count;
    if (!reader.Read(&name_bytes) || name_bytes < 1) return cut();
    const uint8_t* name = reader.Take(static_cast<uint64_t>(name_bytes));
    if (name == nullptr || !reader.Read(&calls) || !reader.Read(&count) || count < 1) return cut();
    const uint8_t* values =
        reader.Has(static_cast<uint64_t>(count), 4) ? reader.Take(4 * static_cast<uint64_t>(count)) : nullptr;
    if (values == nullptr) return cut();
    Entry entry{.values = {}, .known = {true}};
    for (uint64_t j = 0; j < static_cast<uint64_t>(count); ++j) {
      entry.values.push_back(calls > 0 ? FloatAt(values, j) / static_cast<float>(calls) : FloatAt(values, j));
    }
    RETURN_IF_ERROR(Add({reinterpret_cast<const char*>(name), static_cast<size_t>(name_bytes)}, std::move(entry)));
  }
  return absl::OkStatus();
}

// The older format writes the columns of all experts as one row.
absl::Status Importance::CheckModel(const GgufFile& model) const {
  for (const auto& [name, entry] : entries_) {
    const Tensor* tensor = model.FindTensor(name);
    if (tensor == nullptr) {
      if (name == "output.weight") continue;  // of a model whose head is the embedding
      return InvalidArgument("{}: {}: {} has no such tensor, expected an imatrix of the same model", path_,
                             Printable(name), model.path());
    }
    const uint64_t columns = tensor->dims[0], matrices = tensor->dims[2] * tensor->dims[3], size = entry.values.size();
    const bool for_each = size == columns * matrices && (entry.known.size() == 1 || entry.known.size() == matrices);
    if (!for_each && !(size == columns && entry.known.size() == 1)) {
      return InvalidArgument(
          "{}: {}: {} values for {} columns and {} experts of {}, expected an imatrix of the same model", path_,
          Printable(name), size, columns, matrices, model.path());
    }
  }
  return absl::OkStatus();
}

const float* Importance::Find(const Tensor& tensor, uint64_t matrix) const {
  const auto found = entries_.find(tensor.name);
  if (found == entries_.end()) return nullptr;
  const Entry& entry = found->second;
  const uint64_t matrices = entry.values.size() / tensor.dims[0];
  const uint64_t row = matrices == 1 ? 0 : matrix;
  if (row >= matrices || !entry.known[entry.known.size() == 1 ? 0 : row]) return nullptr;
  return entry.values.data() + row * tensor.dims[0];
}

}  // namespace inferd::quantize
