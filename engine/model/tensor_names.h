// Which tensors' names have a meaning in some family: a file with one that its own family does not use would give wrong
// results without it, one that no family uses does no harm.
//
//   if (IsTensorOfSomeFamily("blk.3.attn_q_norm.weight")) ...
#pragma once

#include <string_view>

namespace inferd::model {

bool IsTensorOfSomeFamily(std::string_view name);

}  // namespace inferd::model
