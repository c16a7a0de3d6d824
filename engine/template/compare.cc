#include "engine/template/compare.h"

#include <cmath>
#include <functional>
#include <limits>

#include "absl/hash/hash.h"
#include "config/base/status.h"
#include "engine/template/unicode.h"

namespace inferd::chat_template {
namespace {

// A long double holds every int64 and every double exactly, on x86 (64-bit mantissa) and on ARM (113-bit).
static_assert(std::numeric_limits<long double>::digits >= 64);
long double Exact(const Value& value) {
  return value.is_float() ? static_cast<long double>(value.number()) : static_cast<long double>(value.integer());
}

absl::StatusOr<bool> SequencesEqual(Heap& heap, const std::vector<Value>& a, const std::vector<Value>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    ASSIGN_OR_RETURN(const bool equal, AreEqual(heap, a[i], b[i]));
    if (!equal) return false;
  }
  return true;
}

absl::StatusOr<bool> DictsEqual(Heap& heap, const Dict& a, const Dict& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a.entries()) {
    ASSIGN_OR_RETURN(const Value* other, b.Find(heap, key));
    if (other == nullptr) return false;
    ASSIGN_OR_RETURN(const bool equal, AreEqual(heap, value, *other));
    if (!equal) return false;
  }
  return true;
}

absl::StatusOr<bool> SequenceLess(Heap& heap, const std::vector<Value>& a, const std::vector<Value>& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    ASSIGN_OR_RETURN(const bool equal, AreEqual(heap, a[i], b[i]));
    if (!equal) return IsLess(heap, a[i], b[i]);
  }
  return a.size() < b.size();
}

std::shared_ptr<const Sequence> CodePointsOf(Heap& heap, const StringBox& string) {
  std::vector<Value> points;
  const std::string& bytes = string.text.bytes();
  for (size_t offset = 0; offset < bytes.size();) {
    const size_t begin = offset;
    NextCodePoint(bytes, offset);
    points.push_back(heap.String(string.text.Slice(begin, offset), string.markup));
  }
  return heap.NewSequence(std::move(points));
}

}  // namespace

absl::Status UndefinedError(const Value& value) { return InvalidArgument("{}", value.UndefinedMessage()); }

bool IsTrue(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInteger:
      return value.integer() != 0;
    case Kind::kFloat:
      return value.number() != 0;
    case Kind::kString:
      return !value.text().empty();
    case Kind::kList:
    case Kind::kTuple:
      return !value.items().empty();
    case Kind::kDict:
      return value.dict().size() != 0;
    case Kind::kObject:
      return value.object().Length().value_or(1) != 0;
  }
  return true;
}

absl::StatusOr<bool> AreEqual(Heap& heap, const Value& a, const Value& b) {
  RETURN_IF_ERROR(heap.Step());
  if (a.is_number() && b.is_number()) return Exact(a) == Exact(b);
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kString:
      return a.bytes() == b.bytes();
    case Kind::kList:
    case Kind::kTuple:
      return a.identity() == b.identity() ? true : SequencesEqual(heap, a.items(), b.items());
    case Kind::kDict:
      return a.identity() == b.identity() ? true : DictsEqual(heap, a.dict(), b.dict());
    case Kind::kObject:
      return a.identity() == b.identity() ? true : a.object().Equals(heap, b.object());
    default:
      return false;
  }
}

absl::StatusOr<bool> IsLess(Heap& heap, const Value& a, const Value& b) {
  RETURN_IF_ERROR(heap.Step());
  if (a.is_undefined()) return UndefinedError(a);
  if (b.is_undefined()) return UndefinedError(b);
  if (a.is_number() && b.is_number()) return Exact(a) < Exact(b);
  if (a.is_string() && b.is_string()) return a.bytes() < b.bytes();  // UTF-8 sorts as its code points do
  if (a.is_sequence() && a.kind() == b.kind()) return SequenceLess(heap, a.items(), b.items());
  return InvalidArgument("'<' not supported between instances of '{}' and '{}'", a.TypeName(), b.TypeName());
}

absl::StatusOr<size_t> HashOf(Heap& heap, const Value& value) {
  RETURN_IF_ERROR(heap.Step());
  switch (value.kind()) {
    case Kind::kNone:
    case Kind::kUndefined:
      return static_cast<size_t>(value.kind());
    case Kind::kBool:
    case Kind::kInteger:
      return absl::HashOf(value.integer());
    case Kind::kFloat: {
      const double number = value.number();
      const bool whole = number == std::floor(number) && std::abs(number) < 9.2e18;
      return whole ? absl::HashOf(static_cast<int64_t>(number)) : absl::HashOf(number);
    }
    case Kind::kString:
      return absl::HashOf(std::string_view(value.bytes()));
    case Kind::kTuple: {
      size_t hash = value.items().size();
      for (const Value& item : value.items()) {
        ASSIGN_OR_RETURN(const size_t item_hash, HashOf(heap, item));
        hash = absl::HashOf(hash, item_hash);
      }
      return hash;
    }
    case Kind::kObject:
      return absl::HashOf(value.identity());
    default:
      return InvalidArgument("unhashable type: '{}'", value.TypeName());
  }
}

absl::StatusOr<std::shared_ptr<const Sequence>> Iterate(Heap& heap, const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return heap.NewSequence({});
    case Kind::kString:
      RETURN_IF_ERROR(heap.CheckElements(value.bytes().size()));
      return CodePointsOf(heap, value.string());
    case Kind::kList:
    case Kind::kTuple:
      return value.sequence();
    case Kind::kDict: {
      std::vector<Value> keys;
      RETURN_IF_ERROR(heap.CheckElements(value.dict().size()));
      for (const auto& [key, unused] : value.dict().entries()) keys.push_back(key);
      return heap.NewSequence(std::move(keys));
    }
    case Kind::kObject: {
      ASSIGN_OR_RETURN(std::shared_ptr<const Sequence> sequence, value.object().Iterate(heap));
      if (sequence != nullptr) return sequence;
      break;
    }
    default:
      break;
  }
  return InvalidArgument("'{}' object is not iterable", value.TypeName());
}

absl::StatusOr<int64_t> LengthOf(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return 0;
    case Kind::kString:
      return static_cast<int64_t>(CountCodePoints(value.bytes()));
    case Kind::kList:
    case Kind::kTuple:
      return static_cast<int64_t>(value.items().size());
    case Kind::kDict:
      return static_cast<int64_t>(value.dict().size());
    case Kind::kObject:
      if (const std::optional<size_t> length = value.object().Length()) return static_cast<int64_t>(*length);
      break;
    default:
      break;
  }
  return InvalidArgument("object of type '{}' has no len()", value.TypeName());
}

absl::StatusOr<bool> Contains(Heap& heap, const Value& container, const Value& element) {
  RETURN_IF_ERROR(heap.Step());
  if (container.is_string()) {
    if (element.is_undefined()) return UndefinedError(element);
    if (!element.is_string()) {
      return InvalidArgument("'in <string>' requires string as left operand, not {}", element.TypeName());
    }
    RETURN_IF_ERROR(heap.CheckString(container.bytes().size()));
    return container.bytes().find(element.bytes()) != std::string::npos;
  }
  if (container.is_dict()) {
    ASSIGN_OR_RETURN(const Value* found, container.dict().Find(heap, element));
    return found != nullptr;
  }
  if (container.is_none() || container.is_number()) {
    return InvalidArgument("argument of type '{}' is not iterable", container.TypeName());
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<const Sequence> sequence, Iterate(heap, container));
  for (const Value& item : sequence->items) {
    ASSIGN_OR_RETURN(const bool equal, AreEqual(heap, item, element));
    if (equal) return true;
  }
  return false;
}

}  // namespace inferd::chat_template
