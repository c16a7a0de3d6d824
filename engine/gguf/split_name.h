// Names of the parts of a model in several files: NAME-00002-of-00005.gguf.
//
//   std::optional<SplitName> name = ParseSplitName("dir/big-00002-of-00005.gguf");   // {"dir/big", 2, 5}
//   std::string first = FormatSplitName({name->prefix, 1, name->count});
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inferd::gguf {

struct SplitName {
  std::string prefix;
  uint32_t number;  // from 1
  uint32_t count;
};

// nullopt for a path that is not of that form, or whose number is not in 1..count.
std::optional<SplitName> ParseSplitName(std::string_view path);
std::string FormatSplitName(const SplitName& name);

constexpr size_t kMostParts = 99999;  // that names can count

// How many tensors each part holds, in order: as many as fit into max_bytes, a larger tensor alone.
std::vector<size_t> DivideIntoParts(std::span<const uint64_t> tensor_bytes, uint64_t max_bytes);

}  // namespace inferd::gguf
