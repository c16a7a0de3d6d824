// How an API over HTTP shows what all of them have: errors, and the frame of a stream. Each API has one, for good.
//
//   exchange.form = &OpenAiForm();
//   co_await RespondError(exchange, status);   // gateway/api/respond.h
#pragma once

#include <string>
#include <string_view>

namespace inferd::gateway {

struct ApiError;

struct ApiForm {
  // Body of an error.
  std::string (*error_body)(const ApiError& error, std::string_view request_id);
  // Content type of a stream, and bytes in it that mean nothing between two of its records.
  std::string_view stream_type;
  std::string_view filler;
  // What stands around the body of an error that ends a stream.
  std::string_view error_start;
  std::string_view error_end;
  // Names the request beside X-Request-Id; empty: nothing does.
  std::string_view request_id_header;
};

}  // namespace inferd::gateway
