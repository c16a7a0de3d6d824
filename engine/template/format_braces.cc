// str.format: replacement fields in braces, with attributes and elements read by the rules of the template language.
#include <algorithm>
#include <optional>
#include <string>

#include "config/base/status.h"
#include "engine/template/compare.h"
#include "engine/template/format.h"
#include "engine/template/format_spec.h"
#include "engine/template/number.h"
#include "engine/template/operators.h"
#include "engine/template/print.h"

namespace inferd::chat_template {
namespace {

class BraceFormatter {
 public:
  BraceFormatter(Heap& heap, const Arguments& arguments, bool markup)
      : heap_(heap), arguments_(arguments), markup_(markup) {}

  absl::StatusOr<Text> Run(const Text& format, int nesting) {
    if (nesting > 3) return InvalidArgument("max string recursion exceeded");
    const std::string& bytes = format.bytes();
    RETURN_IF_ERROR(heap_.CheckString(bytes.size()));
    Text out;
    for (size_t at = 0; at < bytes.size();) {
      const size_t brace = std::min(bytes.find_first_of("{}", at), bytes.size());
      out.AppendSlice(format, at, brace);
      if (brace == bytes.size()) break;
      if (brace + 1 < bytes.size() && bytes[brace + 1] == bytes[brace]) {
        out.AppendSlice(format, brace, brace + 1);
        at = brace + 2;
        continue;
      }
      if (bytes[brace] == '}') return InvalidArgument("single '}}' encountered in format string");
      ASSIGN_OR_RETURN(const size_t end, FieldEnd(bytes, brace + 1));
      ASSIGN_OR_RETURN(const Text text, Field(format.Slice(brace + 1, end), nesting));
      out.Append(text);
      RETURN_IF_ERROR(heap_.CheckSize(out.size()));
      at = end + 1;
    }
    return out;
  }

 private:
  static absl::StatusOr<size_t> FieldEnd(const std::string& bytes, size_t at) {
    int open = 1;
    bool in_index = false;
    for (; at < bytes.size(); ++at) {
      const char c = bytes[at];
      if (in_index) {
        in_index = c != ']';
      } else if (c == '[' && open == 1) {
        in_index = true;
      } else if (c == '{') {
        ++open;
      } else if (c == '}' && --open == 0) {
        return at;
      }
    }
    return InvalidArgument("expected '}}' before end of string");
  }

  // field_name [!conversion] [:spec]
  absl::StatusOr<Text> Field(const Text& field, int nesting) {
    const std::string& bytes = field.bytes();
    size_t name_end = 0;
    for (bool in_index = false; name_end < bytes.size(); ++name_end) {
      const char c = bytes[name_end];
      if (!in_index && (c == '!' || c == ':')) break;
      in_index = in_index ? c != ']' : c == '[';
    }
    size_t at = name_end;
    char conversion = '\0';
    if (at < bytes.size() && bytes[at] == '!') {
      if (at + 1 >= bytes.size()) return InvalidArgument("end of string while looking for conversion specifier");
      conversion = bytes[at + 1];
      at += 2;
      if (at < bytes.size() && bytes[at] != ':') return InvalidArgument("expected ':' after conversion specifier");
    }
    ASSIGN_OR_RETURN(Value value, Find(bytes.substr(0, name_end)));
    if (conversion != '\0') {
      Text text;
      if (conversion == 's') {
        RETURN_IF_ERROR(AppendString(heap_, value, text));
      } else if (conversion == 'r' || conversion == 'a') {
        RETURN_IF_ERROR(AppendRepr(heap_, value, text));
      } else {
        return InvalidArgument("unknown conversion specifier '{}'", conversion);
      }
      value = heap_.String(std::move(text));
    }
    Text spec_text;
    if (at < bytes.size()) {
      ASSIGN_OR_RETURN(spec_text, Run(field.Slice(at + 1, bytes.size()), nesting + 1));
    }
    ASSIGN_OR_RETURN(const FormatSpec spec, ParseFormatSpec(spec_text.bytes()));
    ASSIGN_OR_RETURN(Text text, FormatValue(heap_, value, spec));
    if (!markup_ || (value.is_string() && value.string().markup)) return text;
    return EscapeHtml(text);
  }

  absl::StatusOr<Value> Find(const std::string& name) {
    const size_t first_end = std::min(name.find_first_of(".["), name.size());
    ASSIGN_OR_RETURN(Value value, FindFirst(name.substr(0, first_end)));
    for (size_t at = first_end; at < name.size();) {
      RETURN_IF_ERROR(heap_.Step());
      if (name[at] == '.') {
        const size_t end = std::min(name.find_first_of(".[", at + 1), name.size());
        if (end == at + 1) return InvalidArgument("empty attribute in format string");
        ASSIGN_OR_RETURN(value, GetAttribute(heap_, value, std::string_view(name).substr(at + 1, end - at - 1)));
        at = end;
        continue;
      }
      const size_t end = name[at] == '[' ? name.find(']', at) : std::string::npos;
      if (end == std::string::npos || end == at + 1) return InvalidArgument("malformed element in format string");
      const std::string key = name.substr(at + 1, end - at - 1);
      const std::optional<int64_t> index = Index(key);
      ASSIGN_OR_RETURN(value, GetItem(heap_, value, index ? Value::Integer(*index) : heap_.String(key)));
      at = end + 1;
    }
    return value;
  }

  static std::optional<int64_t> Index(const std::string& text) {
    if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    return ParseInteger(text, 10).value_or(std::nullopt);
  }

  absl::StatusOr<Value> FindFirst(const std::string& name) {
    std::optional<int64_t> place = Index(name);
    if (name.empty()) {
      if (manual_) return InvalidArgument("cannot switch from manual field specification to automatic field numbering");
      automatic_ = true;
      place = next_++;
    } else if (place) {
      if (automatic_)
        return InvalidArgument("cannot switch from automatic field numbering to manual field specification");
      manual_ = true;
    }
    if (place) {
      if (static_cast<size_t>(*place) >= arguments_.positional.size()) {
        return InvalidArgument("replacement index {} out of range for positional args tuple", *place);
      }
      return arguments_.positional[static_cast<size_t>(*place)];
    }
    for (const auto& [own, value] : arguments_.named) {
      if (own == name) return value;
    }
    return InvalidArgument("key '{}' is missing", name);
  }

  Heap& heap_;
  const Arguments& arguments_;
  const bool markup_;
  bool automatic_ = false;
  bool manual_ = false;
  int64_t next_ = 0;
};

}  // namespace

absl::StatusOr<Value> FormatBraces(Heap& heap, const Value& format, const Arguments& arguments) {
  const bool markup = format.string().markup;
  ASSIGN_OR_RETURN(Text text, BraceFormatter(heap, arguments, markup).Run(format.text(), 1));
  return heap.String(std::move(text), markup);
}

}  // namespace inferd::chat_template
