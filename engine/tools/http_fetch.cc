#include "engine/tools/http_fetch.h"

#include <curl/curl.h>

#include <charconv>
#include <memory>
#include <string_view>

#include "config/base/status.h"

namespace inferd::tools {
namespace {

constexpr uint64_t kMostText = 64 << 20;
constexpr long kMostRedirects = 10;
constexpr long kConnectSeconds = 30, kStallSeconds = 60;

struct Transfer {
  CURL* curl;
  const HttpFetch::Sink& sink;
  FetchHead head;
  bool begun = false;
  absl::Status status;
};

uint64_t NumberAfter(std::string_view text, char mark) {
  const size_t at = text.rfind(mark);
  if (at == std::string_view::npos) return 0;
  uint64_t number = 0;
  std::from_chars(text.data() + at + 1, text.data() + text.size(), number);
  return number;
}

std::string HeaderOf(CURL* curl, const char* name) {
  curl_header* header = nullptr;
  if (curl_easy_header(curl, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK) return "";
  return header->value;
}

FetchHead ReadHead(CURL* curl) {
  FetchHead head;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &head.status);
  head.etag = HeaderOf(curl, "ETag");
  if (head.status == 206) {
    const std::string range = HeaderOf(curl, "Content-Range");  // bytes 100-199/200
    head.first_byte = NumberAfter(range.substr(0, range.find('-')), ' ');
    head.total_bytes = NumberAfter(range, '/');
  } else {
    curl_off_t length = -1;
    curl_easy_getinfo(curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    head.total_bytes = length > 0 ? static_cast<uint64_t>(length) : 0;
  }
  return head;
}

size_t OnBody(char* data, size_t, size_t size, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  if (!transfer.begun) {
    transfer.begun = true;
    transfer.head = ReadHead(transfer.curl);
    if (transfer.head.status >= 400) return 0;
    transfer.status = transfer.sink.begin(transfer.head);
  }
  if (transfer.status.ok()) transfer.status = transfer.sink.write({reinterpret_cast<const uint8_t*>(data), size});
  return transfer.status.ok() ? size : 0;
}

absl::Status FromHttpStatus(long status, const std::string& url) {
  switch (status) {
    case 401:
    case 403:
      return PermissionDenied("{}: HTTP status {}: a token with access is needed", url, status);
    case 404:
    case 410:
      return NotFound("{}: HTTP status {}: no such file or repository", url, status);
    case 416:
      return OutOfRange("{}: HTTP status 416: the server has fewer bytes than were fetched before", url);
    default:
      break;
  }
  if (status == 429 || status >= 500) return Unavailable("{}: HTTP status {}", url, status);
  return FailedPrecondition("{}: HTTP status {}, expected 200", url, status);
}

absl::Status FromCurl(CURLcode code, const char* detail, const std::string& url) {
  const std::string_view text = *detail ? detail : curl_easy_strerror(code);
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return InvalidArgument("{}: {}, expected an http or https address", url, text);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_TOO_MANY_REDIRECTS:
      return FailedPrecondition("{}: {}", url, text);
    default:
      return Unavailable("{}: {}", url, text);
  }
}

}  // namespace

absl::Status HttpFetch::Get(const std::string& url, const FetchRange& range, const Sink& sink) const {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> owner(curl_easy_init(), curl_easy_cleanup);
  CURL* curl = owner.get();
  if (curl == nullptr) return ResourceExhausted("{}: libcurl could not start", url);
  Transfer transfer{.curl = curl, .sink = sink, .head = {}, .begun = false, .status = {}};
  char detail[CURL_ERROR_SIZE] = "";
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(nullptr, curl_slist_free_all);
  if (range.offset > 0 && !range.if_range.empty()) {
    headers.reset(curl_slist_append(nullptr, fmt::format("If-Range: {}", range.if_range).c_str()));
  }
  const bool secure = url.starts_with("https://");
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, secure ? "https" : "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, kMostRedirects);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, kStallSeconds);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "inferd-model");
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, OnBody);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  if (range.offset > 0) curl_easy_setopt(curl, CURLOPT_RANGE, fmt::format("{}-", range.offset).c_str());
  if (!options_.bearer_token.empty()) {
    curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
    curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, options_.bearer_token.c_str());
  }
  const CURLcode code = curl_easy_perform(curl);
  if (!transfer.begun) transfer.head = ReadHead(curl);
  if (transfer.head.status >= 400) return FromHttpStatus(transfer.head.status, url);
  if (!transfer.status.ok()) return transfer.status;
  if (code != CURLE_OK) return FromCurl(code, detail, url);
  return transfer.begun ? absl::OkStatus() : sink.begin(transfer.head);  // an empty body
}

absl::StatusOr<std::string> HttpFetch::GetText(const std::string& url) const {
  std::string text;
  const Sink sink = {[](const FetchHead&) { return absl::OkStatus(); },
                     [&text, &url](std::span<const uint8_t> bytes) -> absl::Status {
                       if (text.size() + bytes.size() > kMostText) {
                         return ResourceExhausted("{}: answer is larger than {} bytes", url, kMostText);
                       }
                       text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
                       return absl::OkStatus();
                     }};
  RETURN_IF_ERROR(Get(url, {}, sink));
  return text;
}

}  // namespace inferd::tools
