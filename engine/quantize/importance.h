// How much each column of each weight matters: the mean square of the activations that it meets, from a file that an
// imatrix run wrote. Both formats are read: GGUF (NAME.in_sum2 and NAME.counts) and the older binary one.
//
//   ASSIGN_OR_RETURN(Importance importance, Importance::Read("imatrix.gguf"));
//   RETURN_IF_ERROR(importance.CheckModel(*file));
//   const float* columns = importance.Find(tensor, expert);   // nullptr: not known
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/gguf/gguf_file.h"

namespace inferd::quantize {

class Importance {
 public:
  // INVALID_ARGUMENT names the file and the entry at fault.
  static absl::StatusOr<Importance> Read(const std::string& path);
  // The same of bytes that are in memory; `path` names them in messages.
  static absl::StatusOr<Importance> Parse(std::span<const uint8_t> bytes, const std::string& path);

  // Whether the file was made of this model: every entry is one of its tensors, with as many columns and experts.
  absl::Status CheckModel(const gguf::GgufFile& model) const;

  // Of the columns of one matrix (0, or the number of an expert) of a tensor of the checked model; nullptr if nothing
  // is known of it. Valid as long as the object.
  const float* Find(const gguf::Tensor& tensor, uint64_t matrix) const;

  const std::string& path() const { return path_; }
  size_t entries() const { return entries_.size(); }

 private:
  struct Entry {
    std::vector<float> values;  // [matrices][columns]; of one matrix only, it serves all
    std::vector<bool> known;    // for each matrix, or one for all
  };
  absl::Status ReadGguf(const gguf::GgufFile& file);
  absl::Status ReadBinary(std::span<const uint8_t> bytes);
  absl::Status Add(std::string_view name, Entry entry);

  std::string path_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace inferd::quantize
