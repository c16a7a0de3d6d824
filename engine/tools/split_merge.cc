// inferd-model split and merge: a model in one file to several parts and back, tensors and metadata unchanged.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <memory>
#include <string>
#include <vector>

#include "config/base/print.h"
#include "config/base/status.h"
#include "engine/gguf/gguf_file.h"
#include "engine/gguf/gguf_writer.h"
#include "engine/gguf/split_name.h"
#include "engine/tools/progress.h"
#include "engine/tools/verbs.h"

namespace inferd::tools {
namespace {

using gguf::Entry;
using gguf::GgufFile;
using gguf::GgufWriter;
using gguf::Tensor;
using gguf::TensorSink;

constexpr uint64_t kWriteBytes = 8 << 20;
using gguf::kMostParts;

struct Options {
  std::string path;
  std::string output;
  uint64_t max_bytes = uint64_t{2} << 30;
  bool as_json = false;
};

void Report(const Options& options, const std::vector<std::string>& paths) {
  if (options.as_json) {
    const boost::json::array written(paths.begin(), paths.end());
    Print("{}\n", boost::json::serialize(boost::json::object{{"written", written}}));
    return;
  }
  for (const std::string& path : paths) Print("{}\n", path);
}

bool IsSplitKey(std::string_view key) { return key.starts_with("split."); }

absl::Status CopyTensor(const Tensor& tensor, TensorSink& sink, Progress& progress) {
  for (uint64_t done = 0; done < tensor.bytes; done += kWriteBytes) {
    const uint64_t size = std::min(kWriteBytes, tensor.bytes - done);
    RETURN_IF_ERROR(sink.Write({tensor.data + done, size}));
    progress.Advance(size);
  }
  return absl::OkStatus();
}

absl::Status WriteTensors(GgufWriter& writer, std::span<const Tensor> tensors, const std::string& path,
                          Progress& progress) {
  for (const Tensor& tensor : tensors) {
    writer.AddTensor(tensor.name, tensor.type, std::span(tensor.dims).first(tensor.n_dims));
  }
  return writer.WriteFile(path, [&](size_t i, TensorSink& sink) { return CopyTensor(tensors[i], sink, progress); });
}

// general.alignment comes from the writer's constructor.
void CopyMetadata(const GgufFile& file, GgufWriter& writer) {
  for (const Entry& entry : file.entries()) {
    if (!IsSplitKey(entry.key) && entry.key != "general.alignment") writer.Add(entry);
  }
}

uint64_t TotalBytes(const GgufFile& file) {
  uint64_t total = 0;
  for (const Tensor& tensor : file.tensors()) total += tensor.bytes;
  return total;
}

// Runs of tensors of at most max_bytes each (a larger tensor is a part of its own).
std::vector<std::span<const Tensor>> Divide(std::span<const Tensor> tensors, uint64_t max_bytes) {
  std::vector<uint64_t> bytes;
  for (const Tensor& tensor : tensors) bytes.push_back(tensor.bytes);
  std::vector<std::span<const Tensor>> parts;
  for (const size_t count : gguf::DivideIntoParts(bytes, max_bytes)) {
    parts.push_back(tensors.first(count));
    tensors = tensors.subspan(count);
  }
  return parts;
}

absl::Status Split(const Options& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const GgufFile> file, GgufFile::Open(options.path));
  if (file->parts() > 1)
    return InvalidArgument("{}: is in {} parts already, expected one file", options.path, file->parts());
  const auto parts = Divide(file->tensors(), options.max_bytes);
  if (parts.size() > kMostParts) {
    return InvalidArgument("--max-size {}: gives {} parts, expected at most {}", options.max_bytes, parts.size(),
                           kMostParts);
  }
  Progress progress("splitting", TotalBytes(*file));
  std::vector<std::string> paths;
  for (size_t i = 0; i < parts.size(); ++i) {
    GgufWriter writer(file->alignment());
    if (i == 0) CopyMetadata(*file, writer);
    writer.Add("split.no", static_cast<uint16_t>(i));
    writer.Add("split.count", static_cast<uint16_t>(parts.size()));
    writer.Add("split.tensors.count", static_cast<int32_t>(file->tensors().size()));
    const std::string path =
        gguf::FormatSplitName({options.output, static_cast<uint32_t>(i + 1), static_cast<uint32_t>(parts.size())});
    RETURN_IF_ERROR(WriteTensors(writer, parts[i], path, progress));
    paths.push_back(path);
  }
  Report(options, paths);
  return absl::OkStatus();
}

absl::Status Merge(const Options& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const GgufFile> file, GgufFile::Open(options.path));
  Progress progress("merging", TotalBytes(*file));
  GgufWriter writer(file->alignment());
  CopyMetadata(*file, writer);
  RETURN_IF_ERROR(WriteTensors(writer, file->tensors(), options.output, progress));
  Report(options, {options.output});
  return absl::OkStatus();
}

}  // namespace

void AddSplit(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = program.add_subcommand("split", "Divides a model file into parts NAME-00001-of-0000N.gguf.");
  verb->add_option("FILE", options->path, "model file (GGUF)")->required();
  verb->add_option("--output", options->output, "NAME of the parts, with their folder")->required();
  verb->add_option("--max-size", options->max_bytes, "largest part: bytes, or with KiB, MiB, GiB")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  verb->add_flag("--json", options->as_json, "print {\"written\": [...]}");
  verb->callback([options, &action] { action = [options] { return Split(*options); }; });
}

void AddMerge(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = program.add_subcommand("merge", "Joins the parts of a model into one file.");
  verb->add_option("FILE", options->path, "first part (NAME-00001-of-0000N.gguf)")->required();
  verb->add_option("--output", options->output, "file to write")->required();
  verb->add_flag("--json", options->as_json, "print {\"written\": [...]}");
  verb->callback([options, &action] { action = [options] { return Merge(*options); }; });
}

}  // namespace inferd::tools
