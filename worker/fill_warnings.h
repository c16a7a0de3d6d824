// Warnings as the contract has them.
//
//   FillWarnings(prepared.warnings, *response.mutable_warnings());
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <vector>

#include "config/base/warning.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::worker {

inline void FillWarnings(const std::vector<Warning>& warnings, google::protobuf::RepeatedPtrField<v1::Warning>& wire) {
  for (const Warning& warning : warnings) {
    v1::Warning& added = *wire.Add();
    added.set_field(warning.field);
    added.set_text(warning.text);
  }
}

}  // namespace inferd::worker
