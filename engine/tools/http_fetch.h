// HTTP for downloads: GET into memory, or into a file from an offset, over libcurl. Redirects are followed; an https
// address is never left for http, and credentials never go to another host.
//
//   HttpFetch http({.bearer_token = token});
//   ASSIGN_OR_RETURN(std::string text, http.GetText("https://huggingface.co/api/models/a/b/tree/main"));
//   ASSIGN_OR_RETURN(FetchResult result, http.Get(url, {.offset = 1000, .if_range = etag}, sink));
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace inferd::tools {

struct FetchOptions {
  std::string bearer_token;  // empty: none
};

struct FetchRange {
  uint64_t offset = 0;   // first byte wanted
  std::string if_range;  // entity tag: the whole comes instead if it has changed
};

struct FetchHead {
  long status = 0;           // of HTTP
  uint64_t first_byte = 0;   // where the body begins in the whole (206), else 0
  uint64_t total_bytes = 0;  // of the whole, 0: unknown
  std::string etag;
};

class HttpFetch {
 public:
  // Called once the headers of the final response are there, then with each piece of its body. An error ends the fetch.
  struct Sink {
    std::function<absl::Status(const FetchHead&)> begin;
    std::function<absl::Status(std::span<const uint8_t>)> write;
  };

  explicit HttpFetch(FetchOptions options) : options_(std::move(options)) {}

  // NOT_FOUND, PERMISSION_DENIED, ... for HTTP errors; UNAVAILABLE for what may pass: a broken connection, a body that
  // is shorter than announced, a server's 5xx or 429.
  absl::Status Get(const std::string& url, const FetchRange& range, const Sink& sink) const;

  // The whole body, at most 64 MiB.
  absl::StatusOr<std::string> GetText(const std::string& url) const;

 private:
  FetchOptions options_;
};

}  // namespace inferd::tools
