#include "engine/quantize/quantize_tensor.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "config/base/status.h"
#include "engine/gguf/parse.h"
#include "engine/quantize/quantize_row.h"
#include "kernels/kernels.h"

namespace inferd::quantize {
namespace {

using gguf::Tensor;
using gguf::TensorSink;

constexpr uint64_t kCopyBytes = 8 << 20;
constexpr int64_t kPieceElements = 16 << 20;  // of the rows that threads share before they are written
constexpr int64_t kTaskElements = 1 << 14;    // of the rows that a thread takes at once

absl::Status Copy(const Tensor& tensor, TensorSink& sink, const std::function<void(uint64_t)>& done) {
  for (uint64_t begin = 0; begin < tensor.bytes; begin += kCopyBytes) {
    const uint64_t size = std::min(kCopyBytes, tensor.bytes - begin);
    RETURN_IF_ERROR(sink.Write({tensor.data + begin, size}));
    done(size);
  }
  return absl::OkStatus();
}

// The error of the lowest row: the same one whichever thread is first.
class FirstError {
 public:
  void Note(int64_t row, const absl::Status& status) {
    const absl::MutexLock lock(&mutex_);
    if (!status_.ok() && row_ <= row) return;
    row_ = row;
    status_ = status;
  }
  absl::Status status() {
    const absl::MutexLock lock(&mutex_);
    return status_;
  }

 private:
  absl::Mutex mutex_;
  int64_t row_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

// The rows of a tensor as threads take them.
struct Rows {
  const PlannedTensor& planned;
  const Importance* importance;
  const kernels::Kernels& kernels;
  int64_t columns, source_row_bytes, row_bytes;

  absl::Status Quantize(int64_t row, float* values, uint8_t* out) const {
    const Tensor& tensor = *planned.source;
    kernels.dequantize_row(tensor.type, tensor.data + row * source_row_bytes, columns, values);
    if (const absl::Status status = CheckRow(planned.type, values, columns); !status.ok()) {
      return Annotate(status, fmt::format("{}: row {}", gguf::Printable(tensor.name), row));
    }
    const uint64_t matrix = static_cast<uint64_t>(row) / tensor.dims[1];
    QuantizeRow(planned.type, values, importance == nullptr ? nullptr : importance->Find(tensor, matrix), columns, out);
    return absl::OkStatus();
  }
};

absl::Status QuantizePiece(const Rows& rows, int64_t first, int64_t count, int32_t threads, uint8_t* out) {
  const int64_t task_rows = std::max<int64_t>(1, kTaskElements / rows.columns);
  std::atomic<int64_t> next = 0;
  FirstError error;
  const auto work = [&] {
    std::vector<float> values(static_cast<size_t>(rows.columns));
    for (int64_t begin = next.fetch_add(task_rows); begin < count; begin = next.fetch_add(task_rows)) {
      for (int64_t row = begin; row < std::min(begin + task_rows, count); ++row) {
        const absl::Status status = rows.Quantize(first + row, values.data(), out + row * rows.row_bytes);
        if (status.ok()) continue;
        error.Note(row, status);
        return;
      }
    }
  };
  std::vector<std::thread> workers;
  for (int64_t i = 1; i < std::min<int64_t>(threads, (count + task_rows - 1) / task_rows); ++i)
    workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();
  return error.status();
}

}  // namespace

absl::Status QuantizeTensor(const PlannedTensor& planned, const Importance* importance, int32_t threads,
                            TensorSink& sink, const std::function<void(uint64_t bytes)>& done) {
  const Tensor& tensor = *planned.source;
  if (planned.type == tensor.type) return Copy(tensor, sink, done);
  const int64_t columns = static_cast<int64_t>(tensor.dims[0]);
  const int64_t row_count = columns == 0 ? 0 : static_cast<int64_t>(tensor.elements() / tensor.dims[0]);
  const Rows rows = {planned,
                     importance,
                     *kernels::SelectKernels(nullptr),
                     columns,
                     static_cast<int64_t>(RowBytes(tensor.type, columns)),
                     static_cast<int64_t>(RowBytes(planned.type, columns))};
  const int64_t piece_rows = std::max<int64_t>(1, kPieceElements / std::max<int64_t>(columns, 1));
  std::vector<uint8_t> out(static_cast<size_t>(std::min(piece_rows, row_count) * rows.row_bytes));
  for (int64_t first = 0; first < row_count; first += piece_rows) {
    const int64_t count = std::min(piece_rows, row_count - first);
    RETURN_IF_ERROR(QuantizePiece(rows, first, count, threads, out.data()));
    RETURN_IF_ERROR(sink.Write({out.data(), static_cast<size_t>(count * rows.row_bytes)}));
    done(static_cast<uint64_t>(count * rows.source_row_bytes));
  }
  return absl::OkStatus();
}

}  // namespace inferd::quantize
