// An HTTP request as handlers see it, and a response as they make it.
//
//   Response response{.status = 200, .body = R"({"status":"ok"})"};
//   response.headers.emplace_back("Retry-After", "3");
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inferd::gateway {

struct Request {
  std::string method;
  // Canonical (see canonical_path.h): what routing and authorization look at.
  std::string path;
  // What follows the ? of the target, as it came (query.h).
  std::string query;
  // HTTP/1.x
  int minor_version = 1;
  bool keep_alive = true;
  // Names in lower case, in order of arrival.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  // Value of the first header of that (lower-case) name, or empty.
  std::string_view Header(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

// "Not Found" of 404.
std::string_view ReasonPhrase(int status);

enum class Framing { kContentLength, kChunked, kUntilClose };

// Status line and headers, with the empty line. `content_length` counts for Framing::kContentLength alone. Header
// values lose CR, LF and other control characters.
std::string FormatHead(const Response& response, Framing framing, size_t content_length, bool keep_alive,
                       std::string_view request_id);

// Appends `data` (not empty) as one chunk of the chunked coding.
void AppendChunk(std::string_view data, std::string& out);

}  // namespace inferd::gateway
