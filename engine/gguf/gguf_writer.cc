#include "engine/gguf/gguf_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <variant>

#include "config/base/status.h"
#include "config/base/unique_fd.h"
#include "config/base/write_all.h"

namespace inferd::gguf {
namespace {

template <typename T>
void Append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void AppendString(std::string& out, std::string_view text) {
  Append<uint64_t>(out, text.size());
  out.append(text);
}

std::span<const uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

class FileSink : public TensorSink {
 public:
  FileSink(int fd, const std::string& path) : fd_(fd), path_(path) {}
  absl::Status Write(std::span<const uint8_t> bytes) override {
    written_ += bytes.size();
    return WriteAll(fd_, bytes, path_);
  }
  uint64_t written() const { return written_; }

 private:
  int fd_;
  const std::string& path_;
  uint64_t written_ = 0;
};

// Appends the value of another file's entry after its type has been written.
struct EntryAppender {
  std::string& out;
  ValueType type;

  void operator()(uint64_t value) const { AppendSized(value); }
  void operator()(int64_t value) const { AppendSized(value); }
  void operator()(double value) const {
    type == ValueType::kFloat32 ? Append(out, static_cast<float>(value)) : Append(out, value);
  }
  void operator()(bool value) const { Append<uint8_t>(out, value); }
  void operator()(std::string_view value) const { AppendString(out, value); }
  void operator()(const Array& array) const {
    Append(out, array.element_type);
    Append<uint64_t>(out, array.size);
    for (std::string_view text : array.strings) AppendString(out, text);
    if (array.bytes != nullptr)
      out.append(reinterpret_cast<const char*>(array.bytes), array.size * ValueTypeBytes(array.element_type));
  }

 private:
  // The low bytes of a widened integer are the narrow one, whatever its sign.
  template <typename T>
  void AppendSized(T value) const {
    out.append(reinterpret_cast<const char*>(&value), ValueTypeBytes(type));
  }
};

}  // namespace

GgufWriter::GgufWriter(uint64_t alignment) : alignment_(alignment) {
  if (alignment != kDefaultAlignment) Add("general.alignment", static_cast<uint32_t>(alignment));
}

void GgufWriter::AddHead(std::string_view key, ValueType type) {
  AppendString(entries_, key);
  Append(entries_, type);
  ++entry_count_;
}

void GgufWriter::Add(std::string_view key, uint32_t value) {
  AddHead(key, ValueType::kUint32);
  Append(entries_, value);
}

void GgufWriter::Add(std::string_view key, int32_t value) {
  AddHead(key, ValueType::kInt32);
  Append(entries_, value);
}

void GgufWriter::Add(std::string_view key, uint64_t value) {
  AddHead(key, ValueType::kUint64);
  Append(entries_, value);
}

void GgufWriter::Add(std::string_view key, uint16_t value) {
  AddHead(key, ValueType::kUint16);
  Append(entries_, value);
}

void GgufWriter::Add(std::string_view key, float value) {
  AddHead(key, ValueType::kFloat32);
  Append(entries_, value);
}

void GgufWriter::Add(std::string_view key, bool value) {
  AddHead(key, ValueType::kBool);
  Append<uint8_t>(entries_, value);
}

void GgufWriter::Add(std::string_view key, std::string_view value) {
  AddHead(key, ValueType::kString);
  AppendString(entries_, value);
}

void GgufWriter::Add(std::string_view key, std::span<const std::string> values) {
  AddHead(key, ValueType::kArray);
  Append(entries_, ValueType::kString);
  Append<uint64_t>(entries_, values.size());
  for (const std::string& value : values) AppendString(entries_, value);
}

void GgufWriter::Add(std::string_view key, std::span<const float> values) {
  AddHead(key, ValueType::kArray);
  Append(entries_, ValueType::kFloat32);
  Append<uint64_t>(entries_, values.size());
  entries_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

void GgufWriter::Add(std::string_view key, std::span<const int32_t> values) {
  AddHead(key, ValueType::kArray);
  Append(entries_, ValueType::kInt32);
  Append<uint64_t>(entries_, values.size());
  entries_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

void GgufWriter::Add(const Entry& entry) {
  AddHead(entry.key, entry.type);
  std::visit(EntryAppender{entries_, entry.type}, entry.value);
}

void GgufWriter::AddTensor(std::string_view name, kernels::TensorType type, std::span<const uint64_t> dims) {
  const kernels::TypeTraits& traits = kernels::TraitsOf(type);
  uint64_t elements = 1;
  for (uint64_t dim : dims) elements *= dim;
  const uint64_t offset = tensors_.empty() ? 0 : Padded(tensors_.back().offset + tensors_.back().bytes);
  tensors_.push_back({std::string(name),
                      type,
                      {dims.begin(), dims.end()},
                      elements / traits.block_elements * traits.block_bytes,
                      offset});
}

std::string GgufWriter::Header() const {
  std::string out = "GGUF";
  Append<uint32_t>(out, 3);
  Append<uint64_t>(out, tensors_.size());
  Append<uint64_t>(out, entry_count_);
  out += entries_;
  for (const TensorInfo& tensor : tensors_) {
    AppendString(out, tensor.name);
    Append(out, static_cast<uint32_t>(tensor.dims.size()));
    for (uint64_t dim : tensor.dims) Append(out, dim);
    Append(out, tensor.type);
    Append(out, tensor.offset);
  }
  out.resize(Padded(out.size()));
  return out;
}

absl::Status GgufWriter::WriteFile(const std::string& path,
                                   const std::function<absl::Status(size_t, TensorSink&)>& fill) const {
  const std::string temporary = path + ".tmp";
  UniqueFd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd) return FromErrno(errno, temporary);
  const auto write_all = [&]() -> absl::Status {
    RETURN_IF_ERROR(WriteAll(fd.get(), AsBytes(Header()), temporary));
    for (size_t i = 0; i < tensors_.size(); ++i) {
      FileSink sink(fd.get(), temporary);
      RETURN_IF_ERROR(fill(i, sink));
      if (sink.written() != tensors_[i].bytes) {
        return Internal("tensor {}: {} bytes written, expected {}", tensors_[i].name, sink.written(),
                        tensors_[i].bytes);
      }
      const std::string padding(Padded(sink.written()) - sink.written(), '\0');
      RETURN_IF_ERROR(WriteAll(fd.get(), AsBytes(padding), temporary));
    }
    return absl::OkStatus();
  };
  absl::Status status = write_all();
  if (status.ok() && fsync(fd.get()) != 0) status = FromErrno(errno, temporary);
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) status = FromErrno(errno, path);
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

std::string GgufWriter::ToBytes(std::span<const std::string> data) const {
  std::string out = Header();
  for (const std::string& tensor : data) {
    out += tensor;
    out.resize(Padded(out.size()));
  }
  return out;
}

}  // namespace inferd::gguf
