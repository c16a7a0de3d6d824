#include "engine/template/globals.h"

#include "config/base/status.h"
#include "engine/template/builtin.h"
#include "engine/template/compare.h"
#include "engine/template/objects.h"
#include "engine/template/print.h"
#include "engine/template/strftime.h"

namespace inferd::chat_template {
namespace {

constexpr int64_t kMaxRange = 100'000;  // as in jinja2's sandbox

absl::StatusOr<Value> MakeRange(Heap& heap, const Value&, const Bound& arguments) {
  const bool one = !arguments.Has(1);
  ASSIGN_OR_RETURN(const int64_t begin, one ? absl::StatusOr<int64_t>(0) : arguments.Integer(0));
  ASSIGN_OR_RETURN(const int64_t end, arguments.Integer(one ? 0 : 1));
  ASSIGN_OR_RETURN(const int64_t step, arguments.Integer(2, 1));
  if (step == 0) return InvalidArgument("range() arg 3 must not be zero");
  // In 128 bits no difference of two integers overflows.
  const __int128 span = step > 0 ? static_cast<__int128>(end) - begin : static_cast<__int128>(begin) - end;
  const __int128 stride = step > 0 ? static_cast<__int128>(step) : -static_cast<__int128>(step);
  const __int128 count = span <= 0 ? 0 : (span - 1) / stride + 1;
  if (count > kMaxRange) return InvalidArgument("range too big: the sandbox allows {} elements", kMaxRange);
  return heap.OfObject(std::make_shared<RangeObject>(begin, end, step, static_cast<int64_t>(count)));
}

// dict(mapping or pairs, name=value, ...), the arguments of namespace() as well.
absl::StatusOr<Dict> DictOf(Heap& heap, std::string_view function, const Arguments& arguments) {
  if (arguments.positional.size() > 1) return InvalidArgument("{}() takes at most one argument", function);
  Dict dict;
  if (!arguments.positional.empty() && arguments.positional[0].is_dict()) {
    for (const auto& [key, value] : arguments.positional[0].dict().entries()) {
      RETURN_IF_ERROR(dict.Set(heap, key, value));
    }
  } else if (!arguments.positional.empty()) {
    ASSIGN_OR_RETURN(const std::shared_ptr<const Sequence> pairs, Iterate(heap, arguments.positional[0]));
    for (const Value& item : pairs->items) {
      ASSIGN_OR_RETURN(const std::shared_ptr<const Sequence> pair, Iterate(heap, item));
      if (pair->items.size() != 2) {
        return InvalidArgument("{}(): an element has length {}; 2 is required", function, pair->items.size());
      }
      RETURN_IF_ERROR(dict.Set(heap, pair->items[0], pair->items[1]));
    }
  }
  for (const auto& [name, value] : arguments.named) RETURN_IF_ERROR(dict.Set(heap, heap.String(name), value));
  return dict;
}

absl::StatusOr<Value> MakeDict(Heap& heap, const Value&, const Bound& arguments) {
  ASSIGN_OR_RETURN(Dict dict, DictOf(heap, "dict", arguments.all()));
  return heap.OfDict(std::move(dict));
}

absl::StatusOr<Value> MakeNamespace(Heap& heap, const Value&, const Bound& arguments) {
  ASSIGN_OR_RETURN(const Dict dict, DictOf(heap, "namespace", arguments.all()));
  auto names = std::make_unique<Namespace>();
  for (const auto& [key, value] : dict.entries()) {
    if (!key.is_string()) return InvalidArgument("namespace(): the key of type {} is not a name", key.TypeName());
    RETURN_IF_ERROR(names->Set(heap, key.bytes(), value));
  }
  return heap.Keep(std::move(names));
}

absl::StatusOr<Value> MakeCycler(Heap& heap, const Value&, const Bound& arguments) {
  if (arguments.all().positional.empty()) return InvalidArgument("at least one item has to be provided");
  if (!arguments.all().named.empty()) return InvalidArgument("cycler() takes no keyword arguments");
  return heap.OfObject(std::make_shared<Cycler>(arguments.all().positional));
}

absl::StatusOr<Value> MakeJoiner(Heap& heap, const Value&, const Bound& arguments) {
  return heap.OfObject(std::make_shared<Joiner>(arguments.Has(0) ? arguments[0] : heap.String(", ")));
}

absl::StatusOr<Value> RaiseException(Heap& heap, const Value&, const Bound& arguments) {
  ASSIGN_OR_RETURN(const Text message, ToText(heap, arguments[0]));
  return InvalidArgument("{}", message.bytes());
}

constexpr Builtin kGlobals[] = {
    {"range", "/ start ?stop ?step", MakeRange},
    {"dict", "*", MakeDict},
    {"namespace", "*", MakeNamespace},
    {"cycler", "*", MakeCycler},
    {"joiner", "?sep", MakeJoiner},
    {"raise_exception", "message", RaiseException},
};

class StrftimeNow final : public Object {
 public:
  explicit StrftimeNow(const std::tm& now) : now_(now) {}
  std::string_view TypeName() const override { return "function"; }
  bool callable() const override { return true; }
  absl::StatusOr<Value> Call(Heap& heap, const Arguments& arguments) override {
    static constexpr Signature kSignature = "format";
    ASSIGN_OR_RETURN(const Bound bound, Bind("strftime_now", kSignature, arguments));
    ASSIGN_OR_RETURN(const Value* format, bound.String(0));
    if (format == nullptr) return InvalidArgument("strftime_now(): the format must be a str");
    RETURN_IF_ERROR(heap.CheckString(format->text().size()));
    ASSIGN_OR_RETURN(Text text, FormatTime(format->text(), now_));
    RETURN_IF_ERROR(heap.CheckString(text.size()));
    return heap.String(std::move(text));
  }

 private:
  const std::tm& now_;
};

}  // namespace

std::optional<Value> FindGlobal(Heap& heap, std::string_view name, const std::tm& now) {
  if (name == "strftime_now") return heap.OfObject(std::make_shared<StrftimeNow>(now));
  const Builtin* builtin = FindBuiltin(kGlobals, name);
  if (builtin == nullptr) return std::nullopt;
  return heap.OfObject(std::make_shared<BuiltinFunction>(*builtin, Value()));
}

}  // namespace inferd::chat_template
