// Tells models apart by what they compute: of all metadata, the tensor table and the weights' bytes.
//
// And programs whose arithmetic has changed: kNumericsVersion is a part of it.
//
//   model->fingerprint_ = Fingerprint(*model->file_);
//
// Up to kWholeBytes of weights, every byte counts. Of larger files that much is read (some 20 ms of a busy machine with
// the file in memory, however large it is): small tensors whole, of the others blocks of 4 KiB, spread evenly and with
// both ends. So a model that was trained on, quantized anew or cut short has another fingerprint; a change that lies
// between the blocks of a large file, a few bytes by hand, may not. (A reload sees that by the file's time.) It is no
// proof against somebody who looks for two files with one fingerprint.
#pragma once

#include <cstdint>
#include <span>

#include "engine/gguf/gguf_file.h"
#include "kernels/kernels.h"

namespace inferd::model {

inline constexpr uint64_t kWholeBytes = uint64_t{96} << 20;

// `most_bytes`: of weights to read. `numerics`: programs that compute differently have other fingerprints.
uint64_t Fingerprint(const gguf::GgufFile& file, uint64_t most_bytes = kWholeBytes,
                     uint32_t numerics = kernels::kNumericsVersion);

}  // namespace inferd::model
