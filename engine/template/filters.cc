#include "engine/template/filters.h"

#include "absl/container/flat_hash_map.h"

namespace inferd::chat_template {

const Builtin* FindFilter(std::string_view name) {
  using Filters = absl::flat_hash_map<std::string_view, const Builtin*>;
  static const Filters& filters = *[] {
    auto* all = new Filters;
    for (const auto table : {TextFilters(), SequenceFilters(), ValueFilters()}) {
      for (const Builtin& filter : table) all->emplace(filter.name, &filter);
    }
    return all;
  }();
  const auto found = filters.find(name);
  return found == filters.end() ? nullptr : found->second;
}

}  // namespace inferd::chat_template
