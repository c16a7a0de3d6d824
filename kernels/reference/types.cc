// Which unpacker and which kind of product each type has.
#include "kernels/reference/integer_block.h"
#include "kernels/reference/unpack.h"

namespace inferd::kernels::reference {
namespace {

using enum TensorType;
using enum ProductKind;

struct TypeEntry {
  TensorType type;
  ProductKind product;
  Unpacker unpack;
};

constexpr TypeEntry kEntries[] = {
    {kF32, kFloat, nullptr},
    {kF16, kFloat, nullptr},
    {kBF16, kFloat, nullptr},
    {kQ4_0, kScale32, UnpackQ4_0},
    {kQ4_1, kScale32Added, UnpackQ4_1},
    {kQ5_0, kScale32, UnpackQ5_0},
    {kQ5_1, kScale32Added, UnpackQ5_1},
    {kQ8_0, kScale32, UnpackQ8_0},
    {kIQ4_NL, kScale32, UnpackIQ4_NL},
    {kMXFP4, kScale32, UnpackMXFP4},
    {kNVFP4, kScale16, UnpackNVFP4},
    {kQ2_K, kSuperMinimum, UnpackQ2_K},
    {kQ3_K, kSuper, UnpackQ3_K},
    {kQ4_K, kSuperMinimum, UnpackQ4_K},
    {kQ5_K, kSuperMinimum, UnpackQ5_K},
    {kQ6_K, kSuper, UnpackQ6_K},
    {kIQ4_XS, kSuper, UnpackIQ4_XS},
    {kIQ1_S, kSuper, UnpackIQ1_S},
    {kIQ1_M, kSuper, UnpackIQ1_M},
    {kIQ2_XXS, kSuper, UnpackIQ2_XXS},
    {kIQ2_XS, kSuper, UnpackIQ2_XS},
    {kIQ2_S, kSuper, UnpackIQ2_S},
    {kIQ3_XXS, kSuper, UnpackIQ3_XXS},
    {kIQ3_S, kSuper, UnpackIQ3_S},
    {kTQ1_0, kSuper, UnpackTQ1_0},
    {kTQ2_0, kSuper, UnpackTQ2_0},
};

constexpr int kTypes = 64;  // identifiers are below

struct TypeTable {
  TypeEntry entries[kTypes] = {};
};

constexpr TypeTable kTypeTable = [] {
  TypeTable table;
  for (const TypeEntry& entry : kEntries) table.entries[static_cast<uint32_t>(entry.type)] = entry;
  return table;
}();

const TypeEntry& EntryOf(TensorType type) { return kTypeTable.entries[static_cast<uint32_t>(type)]; }

}  // namespace

Unpacker UnpackerOf(TensorType type) { return EntryOf(type).unpack; }
ProductKind ProductOf(TensorType type) { return EntryOf(type).product; }

}  // namespace inferd::kernels::reference
