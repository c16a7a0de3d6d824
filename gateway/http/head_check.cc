#include "gateway/http/head_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "absl/strings/ascii.h"

namespace inferd::gateway {
namespace {

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return absl::ascii_tolower(x) == absl::ascii_tolower(y); });
}

// tchar of RFC 9110 section 5.6.2
bool IsTokenChar(char c) {
  return absl::ascii_isalnum(c) || (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
}

bool IsToken(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenChar); }

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// What the fields seen so far say about the framing and the host.
struct Seen {
  int fields = 0;
  int content_lengths = 0;
  int transfer_encodings = 0;
  int hosts = 0;
  bool http_1_0 = false;
};

std::optional<HeadProblem> CheckRequestLine(std::string_view line, Seen& seen) {
  size_t first = line.find(' ');
  size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return HeadProblem{400, "malformed request line"};
  std::string_view method = line.substr(0, first);
  std::string_view target = line.substr(first + 1, last - first - 1);
  std::string_view version = line.substr(last + 1);
  if (!IsToken(method)) return HeadProblem{400, "malformed method"};
  bool printable = std::all_of(target.begin(), target.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (target.empty() || !printable) return HeadProblem{400, "malformed request target"};
  if (version.size() != 8 || version.substr(0, 5) != "HTTP/" || version[6] != '.' || !absl::ascii_isdigit(version[5]) ||
      !absl::ascii_isdigit(version[7])) {
    return HeadProblem{400, "malformed HTTP version"};
  }
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return HeadProblem{505, "only HTTP/1.1 and HTTP/1.0 are spoken"};
  seen.http_1_0 = version == "HTTP/1.0";
  return std::nullopt;
}

std::optional<HeadProblem> CheckContentLength(std::string_view value, Seen& seen) {
  if (++seen.content_lengths > 1) return HeadProblem{400, "more than one Content-Length"};
  bool digits = std::all_of(value.begin(), value.end(), [](char c) { return absl::ascii_isdigit(c); });
  if (value.empty() || value.size() > 18 || !digits) return HeadProblem{400, "malformed Content-Length"};
  return std::nullopt;
}

std::optional<HeadProblem> CheckField(std::string_view line, Seen& seen) {
  if (line.front() == ' ' || line.front() == '\t') return HeadProblem{400, "folded header line"};
  size_t colon = line.find(':');
  if (colon == std::string_view::npos || !IsToken(line.substr(0, colon))) {
    return HeadProblem{400, "malformed header name"};
  }
  std::string_view name = line.substr(0, colon);
  std::string_view value = Trim(line.substr(colon + 1));
  for (char c : value) {
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) {
      return HeadProblem{400, "control character in a header value"};
    }
  }
  if (++seen.fields > static_cast<int>(kMaxHeaderFields)) return HeadProblem{431, "too many header fields"};
  if (EqualsIgnoringCase(name, "content-length")) return CheckContentLength(value, seen);
  if (EqualsIgnoringCase(name, "transfer-encoding")) {
    if (++seen.transfer_encodings > 1) return HeadProblem{400, "more than one Transfer-Encoding"};
    if (!EqualsIgnoringCase(value, "chunked")) return HeadProblem{400, "Transfer-Encoding must be exactly chunked"};
  } else if (EqualsIgnoringCase(name, "host")) {
    if (++seen.hosts > 1) return HeadProblem{400, "more than one Host"};
  } else if (EqualsIgnoringCase(name, "expect") && !EqualsIgnoringCase(value, "100-continue")) {
    return HeadProblem{417, "the only expectation that can be met is 100-continue"};
  }
  return std::nullopt;
}

}  // namespace

size_t FindHeadEnd(std::string_view input) {
  size_t end = input.find("\r\n\r\n");
  return end == std::string_view::npos ? 0 : end + 4;
}

bool HasBareLineFeed(std::string_view input) {
  for (size_t at = input.find('\n'); at != std::string_view::npos; at = input.find('\n', at + 1)) {
    if (at == 0 || input[at - 1] != '\r') return true;
  }
  return false;
}

std::optional<HeadProblem> FindHeadProblem(std::string_view head) {
  if (HasBareLineFeed(head)) return HeadProblem{400, "a header line ends without CR"};
  Seen seen;
  bool request_line = true;
  while (head.size() > 2) {
    size_t end = head.find("\r\n");
    std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    if (line.find('\r') != std::string_view::npos) return HeadProblem{400, "CR within a header line"};
    auto problem = request_line ? CheckRequestLine(line, seen) : CheckField(line, seen);
    if (problem) return problem;
    request_line = false;
  }
  if (seen.transfer_encodings > 0 && seen.content_lengths > 0) {
    return HeadProblem{400, "both Transfer-Encoding and Content-Length"};
  }
  if (seen.transfer_encodings > 0 && seen.http_1_0) return HeadProblem{400, "Transfer-Encoding in HTTP/1.0"};
  if (seen.hosts == 0 && !seen.http_1_0) return HeadProblem{400, "no Host"};
  return std::nullopt;
}

}  // namespace inferd::gateway
