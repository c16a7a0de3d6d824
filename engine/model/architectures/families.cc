#include "engine/model/architectures/families.h"

#include <algorithm>

namespace inferd::model {

DecoderSpec DescribeLlama(Metadata& m);

namespace {

constexpr Family kFamilies[] = {
    {"llama", DescribeLlama},
};

}  // namespace

std::span<const Family> Families() { return kFamilies; }

const Family* FindFamily(std::string_view name) {
  const auto* found = std::find_if(std::begin(kFamilies), std::end(kFamilies), [&](const Family& f) { return f.name == name; });
  return found == std::end(kFamilies) ? nullptr : found;
}

}  // namespace inferd::model
