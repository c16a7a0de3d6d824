// A model file made ready to run: its specification, and its tensors with every shape checked.
//
//   ASSIGN_OR_RETURN(std::shared_ptr<const gguf::GgufFile> file, gguf::GgufFile::Open(path));
//   ASSIGN_OR_RETURN(std::shared_ptr<const Model> model, Model::Load(file));
//   ASSIGN_OR_RETURN(std::unique_ptr<device::Device> device, device::CreateDevice(model, {}));
//
// Weights stay in the mapped file, which the model keeps open. Nothing here depends on where it will run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/gguf/gguf_file.h"
#include "engine/model/decoder_spec.h"
#include "engine/model/weights.h"

namespace inferd::model {

class Model {
 public:
  // UNIMPLEMENTED for an unknown architecture (the message lists the known ones); INVALID_ARGUMENT for missing or
  // mistyped metadata, tensors that are missing, of a wrong shape or of another family: each named. What is odd and
  // changes no result is a warning.
  static absl::StatusOr<std::shared_ptr<const Model>> Load(std::shared_ptr<const gguf::GgufFile> file);

  const gguf::GgufFile& file() const { return *file_; }
  const DecoderSpec& spec() const { return spec_; }
  const ModelWeights& weights() const { return weights_; }

  int32_t vocabulary_size() const { return spec_.vocabulary_size; }
  int64_t context_length() const { return spec_.context_length; }  // tokens, as trained
  uint64_t parameter_count() const { return parameter_count_; }
  uint64_t fingerprint() const { return fingerprint_; }  // fingerprint.h; equal files are equal
  std::string description() const;                       // "llama 135M Q4_1"
  // What is odd in the file and was ignored, a sentence each that names the key or tensor; the tokenizer has its own.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  Model() = default;

  std::shared_ptr<const gguf::GgufFile> file_;
  DecoderSpec spec_;
  ModelWeights weights_;
  uint64_t parameter_count_ = 0;
  uint64_t fingerprint_ = 0;
  std::vector<std::string> warnings_;
};

// Names of the architectures (`general.architecture`) that Load knows, sorted.
std::vector<std::string> KnownArchitectures();

}  // namespace inferd::model
