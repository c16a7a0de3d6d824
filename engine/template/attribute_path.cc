#include "engine/template/attribute_path.h"

#include <string>
#include <string_view>

#include "config/base/status.h"
#include "engine/template/compare.h"
#include "engine/template/number.h"
#include "engine/template/operators.h"

namespace inferd::chat_template {
namespace {

// The pieces of a path as keys: digits alone are a number.
absl::StatusOr<std::vector<Value>> PartsOf(std::string_view path) {
  std::vector<Value> parts;
  while (true) {
    const std::string_view part = path.substr(0, path.find('.'));
    const bool is_number = !part.empty() && part.find_first_not_of("0123456789") == part.npos;
    if (is_number) {
      ASSIGN_OR_RETURN(const std::optional<int64_t> number, ParseInteger(part, 10));
      parts.push_back(Value::Integer(number.value_or(0)));
    } else {
      parts.push_back(Value::Constant(Text(std::string(part), true)));
    }
    if (part.size() == path.size()) return parts;
    path.remove_prefix(part.size() + 1);
  }
}

}  // namespace

absl::StatusOr<AttributePath> AttributePath::Parse(const Value& attribute) {
  AttributePath path;
  if (attribute.is_string()) {
    ASSIGN_OR_RETURN(path.parts_, PartsOf(attribute.bytes()));
  } else if (attribute.is_undefined()) {
    return UndefinedError(attribute);
  } else if (!attribute.is_none()) {
    path.parts_.push_back(attribute);
  }
  return path;
}

absl::StatusOr<std::vector<AttributePath>> AttributePath::ParseSeveral(const Value& attribute) {
  std::vector<AttributePath> paths;
  if (!attribute.is_string()) {
    ASSIGN_OR_RETURN(AttributePath path, Parse(attribute));
    paths.push_back(std::move(path));
    return paths;
  }
  std::string_view rest = attribute.bytes();
  while (true) {
    const std::string_view path = rest.substr(0, rest.find(','));
    ASSIGN_OR_RETURN(paths.emplace_back().parts_, PartsOf(path));
    if (path.size() == rest.size()) return paths;
    rest.remove_prefix(path.size() + 1);
  }
}

absl::StatusOr<Value> AttributePath::Of(Heap& heap, const Value& value) const {
  Value result = value;
  for (const Value& part : parts_) {
    RETURN_IF_ERROR(heap.Step());
    ASSIGN_OR_RETURN(result, GetItem(heap, result, part));
    if (default_ && result.is_undefined()) result = *default_;
  }
  return result;
}

}  // namespace inferd::chat_template
