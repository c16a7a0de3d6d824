// Metadata of one architecture, read without a check after every line: the first error sticks and is asked for once.
//
//   Metadata m(file, "llama");
//   int64_t width = m.Count("embedding_length");            // "llama.embedding_length", required, at least 1
//   double base = m.RealOr("rope.freq_base", 10000.0);
//   RETURN_IF_ERROR(m.status());
//
// Values after an error are harmless fallbacks (1, 0, empty), so that a description may run on to its end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "engine/gguf/gguf_file.h"

namespace inferd::model {

class Metadata {
 public:
  Metadata(const gguf::GgufFile& file, std::string architecture)
      : file_(file), architecture_(std::move(architecture)) {}

  const std::string& architecture() const { return architecture_; }
  const gguf::GgufFile& file() const { return file_; }
  bool Has(std::string_view key) const { return file_.Find(Key(key)) != nullptr; }

  int64_t Count(std::string_view key, int64_t maximum = kLargestCount);                      // required, 1..maximum
  int64_t CountOr(std::string_view key, int64_t fallback, int64_t maximum = kLargestCount);  // 0..maximum
  double Real(std::string_view key);                                                         // required, finite
  double RealOr(std::string_view key, double fallback);
  bool FlagOr(std::string_view key, bool fallback);
  std::string TextOr(std::string_view key, std::string_view fallback);
  // One count for all layers, or an array with one for each; 0 is allowed.
  std::vector<int64_t> CountPerLayer(std::string_view key, int64_t layers, int64_t fallback);
  std::vector<int64_t> Counts(std::string_view key);  // an array; empty if absent

  void Fail(const absl::Status& status);        // as an error of the file
  void FailAsRead(const absl::Status& status);  // of a getter of the file, which has named it
  const absl::Status& status() const { return status_; }
  void Warn(std::string warning) { warnings_.push_back(std::move(warning)); }  // of what changes no result
  const std::vector<std::string>& warnings() const { return warnings_; }

  static constexpr int64_t kLargestCount = int64_t{1} << 31;

 private:
  std::string Key(std::string_view key) const;
  int64_t Checked(std::string_view key, int64_t value, int64_t minimum, int64_t maximum);

  const gguf::GgufFile& file_;
  std::string architecture_;
  absl::Status status_;
  std::vector<std::string> warnings_;
};

}  // namespace inferd::model
