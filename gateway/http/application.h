// What the HTTP server asks of the application behind it. All calls come on the connection's thread.
//
//   class Gateway : public Application { ... };
//   HttpServer server(pool, application, options);
#pragma once

#include <optional>
#include <string_view>

#include "gateway/http/exchange.h"

namespace inferd::gateway {

class Application {
 public:
  virtual ~Application() = default;

  // Looks at the head alone, before the body is read: a refusal (unknown path, no key, ...), or nothing to go on.
  virtual std::optional<Response> Refuse(Exchange& exchange) = 0;

  // Answers the request; whole body read. If it returns without an answer the server sends a 500.
  virtual Task<void> Handle(Exchange& exchange) = 0;

  // Body and headers of an error that the server itself found.
  virtual Response MakeError(int status, std::string_view message, Exchange& exchange) = 0;

  // After the last byte, or when the client is gone: for the log line and the metrics.
  virtual void Finished(const Exchange& exchange) = 0;
};

}  // namespace inferd::gateway
