#include "gateway/http/canonical_path.h"

#include <vector>

#include "absl/strings/ascii.h"

namespace inferd::gateway {
namespace {

constexpr std::string_view kEncodedSlash = "%2F";

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = absl::ascii_tolower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Path and query of the absolute form "scheme://authority/path", else the target itself.
std::string_view WithoutAuthority(std::string_view target) {
  for (std::string_view scheme : {"http://", "https://"}) {
    if (target.size() < scheme.size()) continue;
    bool matches = true;
    for (size_t i = 0; i < scheme.size(); ++i) matches = matches && absl::ascii_tolower(target[i]) == scheme[i];
    if (!matches) continue;
    size_t path = target.find_first_of("/?#", scheme.size());
    if (path == std::string_view::npos || target[path] != '/') return "/";
    return target.substr(path);
  }
  return target;
}

std::optional<std::string> DecodeSegment(std::string_view segment) {
  std::string decoded;
  for (size_t i = 0; i < segment.size(); ++i) {
    if (segment[i] == '\\') return std::nullopt;  // no part of a URI; others take it for a slash
    if (segment[i] != '%') {
      decoded.push_back(segment[i]);
      continue;
    }
    if (i + 2 >= segment.size()) return std::nullopt;
    int high = HexValue(segment[i + 1]);
    int low = HexValue(segment[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    int byte = high * 16 + low;
    if (byte < 0x20 || byte == 0x7f || byte == '%' || byte == '\\') return std::nullopt;
    if (byte == '/') {
      decoded.append(kEncodedSlash);
    } else {
      decoded.push_back(static_cast<char>(byte));
    }
    i += 2;
  }
  return decoded;
}

}  // namespace

std::optional<std::string> CanonicalPath(std::string_view target) {
  if (target == "*") return "*";
  std::string_view path = WithoutAuthority(target);
  path = path.substr(0, path.find_first_of("?#"));
  if (path.empty() || path.front() != '/') return std::nullopt;

  std::vector<std::string> segments;
  while (!path.empty()) {
    path.remove_prefix(1);
    size_t end = path.find('/');
    std::optional<std::string> segment = DecodeSegment(path.substr(0, end));
    if (!segment) return std::nullopt;
    path = end == std::string_view::npos ? std::string_view() : path.substr(end);
    if (segment->empty() || *segment == ".") continue;
    if (*segment == "..") {
      if (segments.empty()) return std::nullopt;
      segments.pop_back();
      continue;
    }
    segments.push_back(*std::move(segment));
  }
  std::string canonical;
  for (const std::string& segment : segments) canonical.append("/").append(segment);
  return canonical.empty() ? "/" : canonical;
}

std::string_view QueryOf(std::string_view target) {
  target = target.substr(0, target.find('#'));
  const size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
}

std::string DecodeSlashes(std::string_view segment) {
  std::string decoded;
  for (size_t i = 0; i < segment.size(); ++i) {
    if (segment.substr(i, kEncodedSlash.size()) == kEncodedSlash) {
      decoded.push_back('/');
      i += kEncodedSlash.size() - 1;
    } else {
      decoded.push_back(segment[i]);
    }
  }
  return decoded;
}

}  // namespace inferd::gateway
