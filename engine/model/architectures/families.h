// The known architectures: each file beside this one describes one family, or a few that differ in a line or two.
//
//   const Family* family = FindFamily("llama");
//   DecoderSpec spec = family->describe(metadata);        // errors are in metadata.status()
//
// A new family is a file with a description, and its line in families.cc.
#pragma once

#include <span>
#include <string_view>

#include "engine/model/decoder_spec.h"
#include "engine/model/metadata.h"

namespace inferd::model {

struct Family {
  std::string_view name;  // general.architecture
  DecoderSpec (*describe)(Metadata& m);
};

std::span<const Family> Families();  // sorted by name
const Family* FindFamily(std::string_view name);

}  // namespace inferd::model
