#include "engine/quantize/write_model.h"

#include <filesystem>
#include <span>

#include "config/base/status.h"
#include "engine/gguf/gguf_writer.h"
#include "engine/gguf/split_name.h"
#include "engine/quantize/quantize_tensor.h"

namespace inferd::quantize {
namespace {

using gguf::Entry;
using gguf::GgufFile;
using gguf::GgufWriter;
using gguf::TensorSink;

constexpr uint32_t kQuantizationVersion = 2;  // of the block layouts
constexpr std::string_view kFileTypeKey = "general.file_type", kVersionKey = "general.quantization_version";
constexpr std::string_view kImportanceFileKey = "quantize.imatrix.file";
constexpr std::string_view kImportanceEntriesKey = "quantize.imatrix.entries_count";

std::vector<size_t> TensorsOfParts(const Plan& plan, uint64_t max_bytes) {
  std::vector<uint64_t> bytes;
  for (const PlannedTensor& tensor : plan.tensors) bytes.push_back(tensor.bytes);
  if (max_bytes == 0) return {bytes.size()};
  return gguf::DivideIntoParts(bytes, max_bytes);
}

bool IsReplaced(std::string_view key) {
  return key == kFileTypeKey || key == kVersionKey || key == "general.alignment" || key.starts_with("split.") ||
         key.starts_with("quantize.imatrix.");
}

// general.alignment comes from the writer's constructor.
void AddMetadata(const GgufFile& file, const WriteOptions& options, GgufWriter& writer) {
  for (const Entry& entry : file.entries()) {
    if (!IsReplaced(entry.key)) writer.Add(entry);
  }
  writer.Add(kFileTypeKey, options.file_type->id);
  writer.Add(kVersionKey, kQuantizationVersion);
  if (options.importance == nullptr) return;
  writer.Add(kImportanceFileKey, std::filesystem::path(options.importance->path()).filename().string());
  writer.Add(kImportanceEntriesKey, static_cast<uint32_t>(options.importance->entries()));
}

absl::Status WritePart(std::span<const PlannedTensor> tensors, const WriteOptions& options, const std::string& path,
                       GgufWriter& writer) {
  for (const PlannedTensor& tensor : tensors) {
    writer.AddTensor(tensor.source->name, tensor.type, std::span(tensor.source->dims).first(tensor.source->n_dims));
  }
  return writer.WriteFile(path, [&](size_t i, TensorSink& sink) {
    return QuantizeTensor(tensors[i], options.importance, options.threads, sink, options.done);
  });
}

absl::Status CheckFree(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::error_code error;
    if (std::filesystem::symlink_status(path, error).type() == std::filesystem::file_type::not_found) continue;
    if (error) return FromErrno(error.value(), path);
    return AlreadyExists("{}: exists already, expected the name of a new file", path);
  }
  return absl::OkStatus();
}

absl::Status WriteParts(const GgufFile& file, const Plan& plan, const WriteOptions& options,
                        const std::vector<std::string>& paths, size_t& written) {
  const std::vector<size_t> counts = TensorsOfParts(plan, options.max_part_bytes);
  size_t first = 0;
  for (size_t i = 0; i < paths.size(); ++i) {
    GgufWriter writer(file.alignment());
    if (i == 0) AddMetadata(file, options, writer);
    if (options.max_part_bytes != 0) {
      writer.Add("split.no", static_cast<uint16_t>(i));
      writer.Add("split.count", static_cast<uint16_t>(paths.size()));
      writer.Add("split.tensors.count", static_cast<int32_t>(plan.tensors.size()));
    }
    RETURN_IF_ERROR(WritePart(std::span(plan.tensors).subspan(first, counts[i]), options, paths[i], writer));
    first += counts[i];
    ++written;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> OutputPaths(const Plan& plan, const WriteOptions& options) {
  if (options.max_part_bytes == 0) return std::vector<std::string>{options.path};
  const size_t parts = TensorsOfParts(plan, options.max_part_bytes).size();
  if (parts > gguf::kMostParts) {
    return InvalidArgument("--max-size {}: gives {} parts, expected at most {}", options.max_part_bytes, parts,
                           gguf::kMostParts);
  }
  std::vector<std::string> paths;
  for (size_t i = 1; i <= parts; ++i) {
    paths.push_back(gguf::FormatSplitName({options.path, static_cast<uint32_t>(i), static_cast<uint32_t>(parts)}));
  }
  return paths;
}

absl::StatusOr<std::vector<std::string>> WriteModel(const GgufFile& file, const Plan& plan,
                                                    const WriteOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, OutputPaths(plan, options));
  RETURN_IF_ERROR(CheckFree(paths));
  size_t written = 0;
  const absl::Status status = WriteParts(file, plan, options, paths, written);
  if (status.ok()) return paths;
  for (size_t i = 0; i < written; ++i) {
    std::error_code ignored;  // the error that ends the work is the one to report
    std::filesystem::remove(paths[i], ignored);
  }
  return status;
}

}  // namespace inferd::quantize
