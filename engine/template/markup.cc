#include "engine/template/markup.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "config/base/status.h"
#include "engine/template/compare.h"
#include "engine/template/print.h"
#include "engine/template/text_functions.h"

namespace inferd::chat_template {
namespace {

// Without what stands between `open` and `close`, both included; an opening without its end stays.
Text Without(const Text& text, std::string_view open, std::string_view close) {
  const std::string& bytes = text.bytes();
  Text out;
  size_t copied = 0;
  for (size_t at = bytes.find(open); at != bytes.npos; at = bytes.find(open, copied)) {
    const size_t end = bytes.find(close, at + open.size());
    if (end == bytes.npos) break;
    out.AppendSlice(text, copied, at);
    copied = end + close.size();
  }
  out.AppendSlice(text, copied, bytes.size());
  return out;
}

Text ResolveEntities(const Text& text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kEntities = {{{"&lt;", "<"},
                                                                                       {"&gt;", ">"},
                                                                                       {"&quot;", "\""},
                                                                                       {"&#34;", "\""},
                                                                                       {"&#39;", "'"},
                                                                                       {"&apos;", "'"},
                                                                                       {"&amp;", "&"}}};
  Text out;
  const std::string_view bytes = text.bytes();
  size_t copied = 0;
  for (size_t at = bytes.find('&'); at != bytes.npos; at = bytes.find('&', at + 1)) {
    for (const auto& [entity, character] : kEntities) {
      if (!bytes.substr(at).starts_with(entity)) continue;
      out.AppendSlice(text, copied, at);
      out.Append(character, text.TrustedAt(at));
      copied = at + entity.size();
      break;
    }
  }
  out.AppendSlice(text, copied, text.size());
  return out;
}

bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '-' || c == '~';
}

absl::Status AppendQuoted(Heap& heap, const Value& value, bool in_query, Text& out) {
  ASSIGN_OR_RETURN(const Text text, ToText(heap, value));
  RETURN_IF_ERROR(heap.CheckString(text.size() * 3));
  text.ForEachRun([&](std::string_view run, bool trusted) {
    std::string quoted;
    for (const char c : run) {
      if (IsUnreserved(c) || (c == '/' && !in_query)) {
        quoted.push_back(c);
      } else if (c == ' ' && in_query) {
        quoted.push_back('+');
      } else {
        quoted += fmt::format("%{:02X}", static_cast<unsigned char>(c));
      }
    }
    out.Append(quoted, trusted);
  });
  return heap.CheckSize(out.size());
}

absl::Status AppendPair(Heap& heap, const Value& key, const Value& value, Text& out) {
  if (!out.empty()) out.Append("&", true);
  RETURN_IF_ERROR(AppendQuoted(heap, key, true, out));
  out.Append("=", true);
  return AppendQuoted(heap, value, true, out);
}

}  // namespace

absl::StatusOr<Text> StripTags(Heap& heap, const Text& text) {
  const Text plain = Without(Without(text, "<!--", "-->"), "<", ">");
  Text out;
  ASSIGN_OR_RETURN(const std::vector<Text> words, SplitWords(heap, plain, -1, false));
  for (const Text& word : words) {
    if (!out.empty()) out.Append(" ", true);
    out.Append(word);
  }
  return ResolveEntities(out);
}

absl::StatusOr<Text> UrlEncode(Heap& heap, const Value& value) {
  Text out;
  if (value.is_dict()) {
    for (const auto& [key, item] : value.dict().entries()) RETURN_IF_ERROR(AppendPair(heap, key, item, out));
    return out;
  }
  const bool is_pairs = value.is_sequence() || value.is_object() || value.is_undefined();
  if (!is_pairs) {
    RETURN_IF_ERROR(AppendQuoted(heap, value, false, out));
    return out;
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<const Sequence> pairs, Iterate(heap, value));
  for (const Value& item : pairs->items) {
    ASSIGN_OR_RETURN(const std::shared_ptr<const Sequence> pair, Iterate(heap, item));
    if (pair->items.size() != 2) return InvalidArgument("urlencode: expected pairs, got {} values", pair->items.size());
    RETURN_IF_ERROR(AppendPair(heap, pair->items[0], pair->items[1], out));
  }
  return out;
}

absl::StatusOr<Text> XmlAttributes(Heap& heap, const Value& value, bool leading_space) {
  if (value.is_undefined()) return UndefinedError(value);
  if (!value.is_dict()) return InvalidArgument("'{}' object has no attribute 'items'", value.TypeName());
  Text out;
  for (const auto& [key, item] : value.dict().entries()) {
    if (item.is_none() || item.is_undefined()) continue;
    if (!key.is_string()) return InvalidArgument("expected a str as attribute name, not '{}'", key.TypeName());
    if (key.bytes().find_first_of(" \t\n\r\f\v/>=") != std::string::npos) {
      return InvalidArgument("invalid character in attribute name");
    }
    if (leading_space || !out.empty()) out.Append(" ", true);
    ASSIGN_OR_RETURN(const Text name, ToMarkup(heap, key));
    ASSIGN_OR_RETURN(const Text escaped, ToMarkup(heap, item));
    out.Append(name);
    out.Append("=\"", true);
    out.Append(escaped);
    out.Append("\"", true);
    RETURN_IF_ERROR(heap.CheckString(out.size()));
  }
  return out;
}

}  // namespace inferd::chat_template
