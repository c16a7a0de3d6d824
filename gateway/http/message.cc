#include "gateway/http/message.h"

#include <fmt/format.h>

#include <iterator>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace inferd::gateway {

std::string_view Request::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

std::string_view ReasonPhrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

namespace {

void AppendHeader(std::string_view name, std::string_view value, std::string& out) {
  out.append(name).append(": ");
  for (char c : value) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) out.push_back(c);
  }
  out.append("\r\n");
}

}  // namespace

std::string FormatHead(const Response& response, Framing framing, size_t content_length, bool keep_alive,
                       std::string_view request_id) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status, ReasonPhrase(response.status));
  AppendHeader("Date", absl::FormatTime("%a, %d %b %E4Y %H:%M:%S GMT", absl::Now(), absl::UTCTimeZone()), head);
  AppendHeader("X-Request-Id", request_id, head);
  if (response.status != 204) {
    AppendHeader("Content-Type", response.content_type, head);
    if (framing == Framing::kContentLength) AppendHeader("Content-Length", fmt::to_string(content_length), head);
    if (framing == Framing::kChunked) AppendHeader("Transfer-Encoding", "chunked", head);
  }
  for (const auto& [name, value] : response.headers) AppendHeader(name, value, head);
  AppendHeader("Connection", keep_alive ? "keep-alive" : "close", head);
  head.append("\r\n");
  return head;
}

void AppendChunk(std::string_view data, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{:x}\r\n", data.size());
  out.append(data).append("\r\n");
}

}  // namespace inferd::gateway
