// Filters of sequences and dicts.
#include <algorithm>
#include <functional>

#include "config/base/status.h"
#include "engine/template/attribute_path.h"
#include "engine/template/compare.h"
#include "engine/template/filters.h"
#include "engine/template/objects.h"
#include "engine/template/operators.h"
#include "engine/template/print.h"
#include "engine/template/sorting.h"
#include "engine/template/tests.h"
#include "engine/template/text_functions.h"

namespace inferd::chat_template {
namespace {

// Strings compare without regard to case unless asked: as their lower case.
Value FoldCase(Heap& heap, const Value& value) {
  return value.is_string() ? heap.String(LowerText(value.text()), value.string().markup) : value;
}

struct Keyed {
  Value key;
  Value item;
};

// Each element with the key that it is compared by: the attributes that the path names, or itself.
absl::StatusOr<std::vector<Keyed>> KeyedItems(Heap& heap, const Value& self, const AttributePath& path,
                                              bool case_sensitive) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Sequence> items, Iterate(heap, self));
  std::vector<Keyed> keyed;
  RETURN_IF_ERROR(heap.CheckElements(items->items.size()));
  for (const Value& item : items->items) {
    ASSIGN_OR_RETURN(Value key, path.Of(heap, item));
    keyed.push_back({case_sensitive ? key : FoldCase(heap, key), item});
    RETURN_IF_ERROR(heap.Step());
  }
  return keyed;
}

absl::Status SortByKey(Heap& heap, std::vector<Keyed>& items, bool reverse) {
  return SortStably(items, [&](const Keyed& a, const Keyed& b) {
    return reverse ? IsLess(heap, b.key, a.key) : IsLess(heap, a.key, b.key);
  });
}

Value ListOf(Heap& heap, std::vector<Keyed> items) {
  std::vector<Value> values;
  values.reserve(items.size());
  for (Keyed& row : items) values.push_back(std::move(row.item));
  return heap.List(std::move(values));
}

absl::StatusOr<AttributePath> PathAt(const Bound& arguments, size_t place) {
  return arguments.Has(place) ? AttributePath::Parse(arguments[place]) : AttributePath();
}

absl::StatusOr<Value> Sort(Heap& heap, const Value& self, const Bound& arguments) {
  const bool case_sensitive = arguments.Truth(1, false);
  // Several attributes with commas are one key: a list of them.
  std::vector<AttributePath> paths(1);
  if (arguments.Has(2)) {
    ASSIGN_OR_RETURN(paths, AttributePath::ParseSeveral(arguments[2]));
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<const Sequence> items, Iterate(heap, self));
  RETURN_IF_ERROR(heap.CheckElements(items->items.size() * paths.size()));
  std::vector<Keyed> keyed;
  for (const Value& item : items->items) {
    std::vector<Value> keys;
    for (const AttributePath& path : paths) {
      ASSIGN_OR_RETURN(Value key, path.Of(heap, item));
      keys.push_back(case_sensitive ? std::move(key) : FoldCase(heap, key));
    }
    keyed.push_back({heap.List(std::move(keys)), item});
    RETURN_IF_ERROR(heap.Step());
  }
  RETURN_IF_ERROR(SortByKey(heap, keyed, arguments.Truth(0, false)));
  return ListOf(heap, std::move(keyed));
}

absl::StatusOr<Value> DictSort(Heap& heap, const Value& self, const Bound& arguments) {
  if (self.is_undefined()) return UndefinedError(self);
  if (!self.is_dict()) return InvalidArgument("'{}' object has no attribute 'items'", self.TypeName());
  ASSIGN_OR_RETURN(const Value* by, arguments.String(1));
  const std::string part = by == nullptr ? "key" : by->bytes();
  if (part != "key" && part != "value") return InvalidArgument("you can only sort by either \"key\" or \"value\"");
  std::vector<Keyed> keyed;
  RETURN_IF_ERROR(heap.CheckElements(self.dict().size()));
  for (const auto& [key, value] : self.dict().entries()) {
    const Value& sorted_by = part == "key" ? key : value;
    keyed.push_back({arguments.Truth(0, false) ? sorted_by : FoldCase(heap, sorted_by), heap.Tuple({key, value})});
  }
  RETURN_IF_ERROR(SortByKey(heap, keyed, arguments.Truth(2, false)));
  return ListOf(heap, std::move(keyed));
}

absl::StatusOr<Value> Unique(Heap& heap, const Value& self, const Bound& arguments) {
  ASSIGN_OR_RETURN(const AttributePath path, PathAt(arguments, 1));
  ASSIGN_OR_RETURN(std::vector<Keyed> keyed, KeyedItems(heap, self, path, arguments.Truth(0, false)));
  Dict seen;
  std::vector<Value> unique;
  for (Keyed& row : keyed) {
    ASSIGN_OR_RETURN(const Value* found, seen.Find(heap, row.key));
    if (found != nullptr) continue;
    RETURN_IF_ERROR(seen.Set(heap, row.key, Value::None()));
    unique.push_back(std::move(row.item));
  }
  return Iterator::Make(heap, std::move(unique));
}

absl::StatusOr<Value> Extreme(Heap& heap, const Value& self, const Bound& arguments, bool largest) {
  ASSIGN_OR_RETURN(const AttributePath path, PathAt(arguments, 1));
  ASSIGN_OR_RETURN(std::vector<Keyed> keyed, KeyedItems(heap, self, path, arguments.Truth(0, false)));
  if (keyed.empty()) return heap.Undefined("no aggregated item, sequence was empty");
  size_t best = 0;
  for (size_t i = 1; i < keyed.size(); ++i) {
    ASSIGN_OR_RETURN(const bool better, largest ? IsLess(heap, keyed[best].key, keyed[i].key)
                                                : IsLess(heap, keyed[i].key, keyed[best].key));
    if (better) best = i;
  }
  return keyed[best].item;
}
absl::StatusOr<Value> Minimum(Heap& heap, const Value& self, const Bound& arguments) {
  return Extreme(heap, self, arguments, false);
}
absl::StatusOr<Value> Maximum(Heap& heap, const Value& self, const Bound& arguments) {
  return Extreme(heap, self, arguments, true);
}

absl::StatusOr<Value> GroupBy(Heap& heap, const Value& self, const Bound& arguments) {
  ASSIGN_OR_RETURN(AttributePath path, PathAt(arguments, 0));
  if (arguments.Has(1) && !arguments[1].is_none()) path.set_default(arguments[1]);
  const bool case_sensitive = arguments.Truth(2, false);
  ASSIGN_OR_RETURN(std::vector<Keyed> keyed, KeyedItems(heap, self, path, case_sensitive));
  RETURN_IF_ERROR(SortByKey(heap, keyed, false));
  std::vector<Value> groups;
  for (size_t begin = 0; begin < keyed.size();) {
    std::vector<Value> members;
    size_t end = begin;
    for (; end < keyed.size(); ++end) {
      ASSIGN_OR_RETURN(const bool same, AreEqual(heap, keyed[begin].key, keyed[end].key));
      if (!same) break;
      members.push_back(keyed[end].item);
    }
    ASSIGN_OR_RETURN(Value grouper, path.Of(heap, members[0]));
    groups.push_back(heap.Group(std::move(grouper), heap.List(std::move(members))));
    begin = end;
  }
  return heap.List(std::move(groups));
}

absl::StatusOr<Value> Join(Heap& heap, const Value& self, const Bound& arguments) {
  ASSIGN_OR_RETURN(const AttributePath path, PathAt(arguments, 1));
  ASSIGN_OR_RETURN(const Text separator, arguments.Has(0) ? ToText(heap, arguments[0]) : Text());
  ASSIGN_OR_RETURN(const std::shared_ptr<const Sequence> items, Iterate(heap, self));
  Text text;
  for (size_t i = 0; i < items->items.size(); ++i) {
    if (i > 0) text.Append(separator);
    ASSIGN_OR_RETURN(const Value item, path.Of(heap, items->items[i]));
    RETURN_IF_ERROR(AppendString(heap, item, text));
    RETURN_IF_ERROR(heap.Step(1 + separator.size() / 64));
  }
  return heap.String(std::move(text));
}

absl::StatusOr<Value> Sum(Heap& heap, const Value& self, const Bound& arguments) {
  ASSIGN_OR_RETURN(const AttributePath path, PathAt(arguments, 0));
  Value sum = arguments.Has(1) ? arguments[1] : Value::Integer(0);
  if (sum.is_string()) return InvalidArgument("sum() can't sum strings [use ''.join(seq) instead]");
  ASSIGN_OR_RETURN(const std::shared_ptr<const Sequence> items, Iterate(heap, self));
  for (const Value& item : items->items) {
    RETURN_IF_ERROR(heap.Step());
    ASSIGN_OR_RETURN(const Value addend, path.Of(heap, item));
    ASSIGN_OR_RETURN(sum, Calculate(heap, Operator::kAdd, sum, addend));
  }
  return sum;
}

absl::StatusOr<Value> List(Heap& heap, const Value& self, const Bound&) {
  ASSIGN_OR_RETURN(std::shared_ptr<const Sequence> items, Iterate(heap, self));
  return Value::List(std::move(items));
}

absl::StatusOr<Value> First(Heap& heap, const Value& self, const Bound&) {
  std::optional<Value> first;
  if (auto* iterator = self.is_object() ? dynamic_cast<Iterator*>(&self.object()) : nullptr) {
    first = iterator->Next();
  } else {
    ASSIGN_OR_RETURN(const std::shared_ptr<const Sequence> items, Iterate(heap, self));
    if (!items->items.empty()) first = items->items.front();
  }
  return first ? *std::move(first) : heap.Undefined("no first item, sequence was empty");
}

bool IsReversible(const Value& value) {
  return value.is_undefined() || value.is_string() || value.is_sequence() || value.is_dict() ||
         (value.is_object() && value.object().reversible());
}

absl::StatusOr<Value> Last(Heap& heap, const Value& self, const Bound&) {
  if (!IsReversible(self)) return InvalidArgument("'{}' object is not reversible", self.TypeName());
  ASSIGN_OR_RETURN(const std::shared_ptr<const Sequence> items, Iterate(heap, self));
  return items->items.empty() ? heap.Undefined("no last item, sequence was empty") : items->items.back();
}

absl::StatusOr<Value> Reverse(Heap& heap, const Value& self, const Bound&) {
  if (self.is_string()) return GetSlice(heap, self, Value::None(), Value::None(), Value::Integer(-1));
  ASSIGN_OR_RETURN(const std::shared_ptr<const Sequence> items, Iterate(heap, self));
  RETURN_IF_ERROR(heap.CheckElements(items->items.size()));
  std::vector<Value> reversed(items->items.rbegin(), items->items.rend());
  if (!IsReversible(self)) return heap.List(std::move(reversed));
  return Iterator::Make(heap, std::move(reversed), self.is_list() ? "list_reverseiterator" : "reversed");
}

absl::StatusOr<Value> ItemsOf(Heap& heap, const Value& self, const Bound&) {
  if (self.is_undefined()) return Iterator::Make(heap, {});
  if (!self.is_dict()) return InvalidArgument("can only get item pairs from a mapping");
  ASSIGN_OR_RETURN(std::shared_ptr<const Sequence> items, DictView(self, DictView::Part::kItems).Iterate(heap));
  return Iterator::Make(heap, items->items);
}

absl::StatusOr<Value> Batch(Heap& heap, const Value& self, const Bound& arguments) {
  ASSIGN_OR_RETURN(const int64_t size, arguments.Integer(0));
  ASSIGN_OR_RETURN(const std::shared_ptr<const Sequence> items, Iterate(heap, self));
  std::vector<Value> batches;
  std::vector<Value> batch;
  for (const Value& item : items->items) {
    RETURN_IF_ERROR(heap.Step());
    if (static_cast<int64_t>(batch.size()) == size) batches.push_back(heap.List(std::exchange(batch, {})));
    batch.push_back(item);
  }
  if (!batch.empty()) {
    if (arguments.Has(1) && !arguments[1].is_none() && static_cast<int64_t>(batch.size()) < size) {
      RETURN_IF_ERROR(heap.CheckElements(static_cast<uint64_t>(size)));
      batch.resize(static_cast<size_t>(size), arguments[1]);
    }
    batches.push_back(heap.List(std::move(batch)));
  }
  return Iterator::Make(heap, std::move(batches));
}

absl::StatusOr<Value> Slice(Heap& heap, const Value& self, const Bound& arguments) {
  ASSIGN_OR_RETURN(const int64_t count, arguments.Integer(0));
  if (count == 0) return InvalidArgument("integer division or modulo by zero");
  if (count < 0) return Iterator::Make(heap, {});
  ASSIGN_OR_RETURN(const std::shared_ptr<const Sequence> items, Iterate(heap, self));
  RETURN_IF_ERROR(heap.CheckElements(static_cast<uint64_t>(count)));
  const auto length = static_cast<int64_t>(items->items.size());
  const int64_t longer = length % count;
  const bool fills = arguments.Has(1) && !arguments[1].is_none();
  std::vector<Value> slices;
  auto begin = items->items.begin();
  for (int64_t i = 0; i < count; ++i) {
    const auto end = begin + length / count + (i < longer ? 1 : 0);
    std::vector<Value> slice(begin, end);
    if (fills && i >= longer) slice.push_back(arguments[1]);
    slices.push_back(heap.List(std::move(slice)));
    begin = end;
  }
  return Iterator::Make(heap, std::move(slices));
}

// map('filter', arguments...) or map(attribute='path', default=...).
absl::StatusOr<Value> Map(Heap& heap, const Value& self, const Bound& arguments) {
  if (!IsTrue(self)) return Iterator::Make(heap, {});  // jinja2 does not iterate what is false: None is allowed
  const Arguments& all = arguments.all();
  std::function<absl::StatusOr<Value>(const Value&)> apply;
  AttributePath path;
  Arguments rest;
  if (all.positional.empty()) {
    bool has_attribute = false;
    for (const auto& [name, value] : all.named) {
      if (name == "attribute") {
        ASSIGN_OR_RETURN(AttributePath parsed, AttributePath::Parse(value));
        if (path.has_default()) parsed.set_default(path.default_value());
        path = std::move(parsed);
        has_attribute = true;
      } else if (name == "default") {
        if (!value.is_none()) path.set_default(value);
      } else {
        return InvalidArgument("unexpected keyword argument '{}'", name);
      }
    }
    if (!has_attribute) return InvalidArgument("map requires a filter argument");
    apply = [&](const Value& item) { return path.Of(heap, item); };
  } else {
    const Value& name = all.positional[0];
    const Builtin* filter = name.is_string() ? FindFilter(name.bytes()) : nullptr;
    if (filter == nullptr) return InvalidArgument("no filter with this name for map");
    rest.positional.assign(all.positional.begin() + 1, all.positional.end());
    rest.named = all.named;
    apply = [&heap, &rest, filter](const Value& item) { return CallBuiltin(heap, *filter, item, rest); };
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<const Sequence> items, Iterate(heap, self));
  std::vector<Value> mapped;
  for (const Value& item : items->items) {
    RETURN_IF_ERROR(heap.Step());
    ASSIGN_OR_RETURN(Value value, apply(item));
    mapped.push_back(std::move(value));
  }
  return Iterator::Make(heap, std::move(mapped));
}

// The elements for which a test holds (`wanted`), of themselves or of an attribute; without a test: their truth.
absl::StatusOr<Value> Selected(Heap& heap, const Value& self, const Bound& arguments, bool wanted, bool by_attribute) {
  if (!IsTrue(self)) return Iterator::Make(heap, {});
  const Arguments& all = arguments.all();
  AttributePath path;
  size_t used = 0;
  if (by_attribute) {
    if (all.positional.empty()) return InvalidArgument("missing parameter for attribute name");
    ASSIGN_OR_RETURN(path, AttributePath::Parse(all.positional[0]));
    used = 1;
  }
  const Builtin* test = nullptr;
  if (all.positional.size() > used) {
    const Value& name = all.positional[used++];
    test = name.is_string() ? FindTest(name.bytes()) : nullptr;
    if (test == nullptr) return InvalidArgument("no test with this name");
  }
  const Arguments rest{{all.positional.begin() + static_cast<ptrdiff_t>(used), all.positional.end()}, all.named};
  ASSIGN_OR_RETURN(const std::shared_ptr<const Sequence> items, Iterate(heap, self));
  std::vector<Value> selected;
  for (const Value& item : items->items) {
    RETURN_IF_ERROR(heap.Step());
    ASSIGN_OR_RETURN(Value tested, path.Of(heap, item));
    if (test != nullptr) {
      ASSIGN_OR_RETURN(tested, CallBuiltin(heap, *test, tested, rest));
    }
    if (IsTrue(tested) == wanted) selected.push_back(item);
  }
  return Iterator::Make(heap, std::move(selected));
}
absl::StatusOr<Value> Select(Heap& heap, const Value& self, const Bound& arguments) {
  return Selected(heap, self, arguments, true, false);
}
absl::StatusOr<Value> Reject(Heap& heap, const Value& self, const Bound& arguments) {
  return Selected(heap, self, arguments, false, false);
}
absl::StatusOr<Value> SelectAttribute(Heap& heap, const Value& self, const Bound& arguments) {
  return Selected(heap, self, arguments, true, true);
}
absl::StatusOr<Value> RejectAttribute(Heap& heap, const Value& self, const Bound& arguments) {
  return Selected(heap, self, arguments, false, true);
}

constexpr Builtin kFilters[] = {
    {"sort", "?reverse ?case_sensitive ?attribute", Sort},
    {"dictsort", "?case_sensitive ?by ?reverse", DictSort},
    {"unique", "?case_sensitive ?attribute", Unique},
    {"min", "?case_sensitive ?attribute", Minimum},
    {"max", "?case_sensitive ?attribute", Maximum},
    {"groupby", "attribute ?default ?case_sensitive", GroupBy},
    {"join", "?d ?attribute", Join},
    {"sum", "?attribute ?start", Sum},
    {"list", "", List},
    {"first", "", First},
    {"last", "", Last},
    {"reverse", "", Reverse},
    {"items", "", ItemsOf},
    {"batch", "linecount ?fill_with", Batch},
    {"slice", "slices ?fill_with", Slice},
    {"map", "*", Map},
    {"select", "*", Select},
    {"reject", "*", Reject},
    {"selectattr", "*", SelectAttribute},
    {"rejectattr", "*", RejectAttribute},
};

}  // namespace

std::span<const Builtin> SequenceFilters() { return kFilters; }

}  // namespace inferd::chat_template
