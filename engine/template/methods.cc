#include "engine/template/methods.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "config/base/status.h"
#include "engine/template/compare.h"
#include "engine/template/objects.h"
#include "engine/template/operators.h"

namespace inferd::chat_template {
namespace {

absl::StatusOr<Value> CountItems(Heap& heap, const Value& self, const Bound& arguments) {
  int64_t count = 0;
  for (const Value& item : self.items()) {
    ASSIGN_OR_RETURN(const bool equal, AreEqual(heap, item, arguments[0]));
    count += equal ? 1 : 0;
  }
  return Value::Integer(count);
}

absl::StatusOr<Value> IndexOfItem(Heap& heap, const Value& self, const Bound& arguments) {
  const auto length = static_cast<int64_t>(self.items().size());
  ASSIGN_OR_RETURN(int64_t begin, arguments.Integer(1, 0));
  ASSIGN_OR_RETURN(int64_t end, arguments.Integer(2, length));
  begin = std::clamp<int64_t>(begin < 0 ? begin + length : begin, 0, length);
  end = std::clamp<int64_t>(end < 0 ? end + length : end, 0, length);
  for (int64_t i = begin; i < end; ++i) {
    ASSIGN_OR_RETURN(const bool equal, AreEqual(heap, self.items()[static_cast<size_t>(i)], arguments[0]));
    if (equal) return Value::Integer(i);
  }
  return InvalidArgument("the value is not in the {}", self.TypeName());
}

absl::StatusOr<Value> Copy(Heap&, const Value& self, const Bound&) { return self; }

absl::StatusOr<Value> GetOr(Heap& heap, const Value& self, const Bound& arguments) {
  ASSIGN_OR_RETURN(const Value* found, self.dict().Find(heap, arguments[0]));
  if (found != nullptr) return *found;
  return arguments.Has(1) ? arguments[1] : Value::None();
}

absl::StatusOr<Value> View(Heap& heap, const Value& self, DictView::Part part) {
  return heap.OfObject(std::make_shared<DictView>(self, part));
}
absl::StatusOr<Value> Keys(Heap& heap, const Value& self, const Bound&) {
  return View(heap, self, DictView::Part::kKeys);
}
absl::StatusOr<Value> Values(Heap& heap, const Value& self, const Bound&) {
  return View(heap, self, DictView::Part::kValues);
}
absl::StatusOr<Value> Items(Heap& heap, const Value& self, const Bound&) {
  return View(heap, self, DictView::Part::kItems);
}

absl::StatusOr<Value> BitLength(Heap&, const Value& self, const Bound&) {
  const int64_t value = self.integer();
  const uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  return Value::Integer(std::bit_width(magnitude));
}
absl::StatusOr<Value> IsInteger(Heap&, const Value& self, const Bound&) {
  return Value::Bool(std::isfinite(self.number()) && self.number() == std::floor(self.number()));
}
absl::StatusOr<Value> Conjugate(Heap&, const Value& self, const Bound&) {
  return self.is_bool() ? Value::Integer(self.integer()) : self;
}

constexpr Builtin kListMethods[] = {
    {"count", "/ value", CountItems}, {"index", "/ value ?start ?stop", IndexOfItem}, {"copy", "", Copy}};
constexpr Builtin kTupleMethods[] = {{"count", "/ value", CountItems}, {"index", "/ value ?start ?stop", IndexOfItem}};
constexpr Builtin kDictMethods[] = {{"get", "/ key ?default", GetOr},
                                    {"items", "", Items},
                                    {"keys", "", Keys},
                                    {"values", "", Values},
                                    {"copy", "", Copy}};
constexpr Builtin kIntegerMethods[] = {{"bit_length", "", BitLength}, {"conjugate", "", Conjugate}};
constexpr Builtin kFloatMethods[] = {{"is_integer", "", IsInteger}, {"conjugate", "", Conjugate}};

const Builtin* FindStringMethod(std::string_view name) {
  using Methods = absl::flat_hash_map<std::string_view, const Builtin*>;
  static const Methods& methods = *[] {
    auto* all = new Methods;
    for (const auto table : {StringSearchMethods(), StringCaseMethods()}) {
      for (const Builtin& method : table) all->emplace(method.name, &method);
    }
    return all;
  }();
  const auto found = methods.find(name);
  return found == methods.end() ? nullptr : found->second;
}

}  // namespace

const Builtin* FindMethod(Kind kind, std::string_view name) {
  switch (kind) {
    case Kind::kString:
      return FindStringMethod(name);
    case Kind::kList:
      return FindBuiltin(kListMethods, name);
    case Kind::kTuple:
      return FindBuiltin(kTupleMethods, name);
    case Kind::kDict:
      return FindBuiltin(kDictMethods, name);
    case Kind::kBool:
    case Kind::kInteger:
      return FindBuiltin(kIntegerMethods, name);
    case Kind::kFloat:
      return FindBuiltin(kFloatMethods, name);
    default:
      return nullptr;
  }
}

bool ModifiesValue(Kind kind, std::string_view name) {
  constexpr std::array<std::string_view, 8> kOfList = {"append", "clear", "pop",    "reverse",
                                                       "insert", "sort",  "extend", "remove"};
  constexpr std::array<std::string_view, 5> kOfDict = {"clear", "pop", "popitem", "setdefault", "update"};
  if (kind == Kind::kList) return std::find(kOfList.begin(), kOfList.end(), name) != kOfList.end();
  if (kind == Kind::kDict) return std::find(kOfDict.begin(), kOfDict.end(), name) != kOfDict.end();
  return false;
}

std::optional<Value> GetNumberField(const Value& value, std::string_view name) {
  if (!value.is_number()) return std::nullopt;
  const Value self = value.is_bool() ? Value::Integer(value.integer()) : value;
  if (name == "real") return self;
  if (name == "imag") return value.is_float() ? Value::Float(0) : Value::Integer(0);
  if (value.is_float()) return std::nullopt;
  if (name == "numerator") return self;
  if (name == "denominator") return Value::Integer(1);
  return std::nullopt;
}

}  // namespace inferd::chat_template
