// One request and the way to answer it, exactly once: Respond(), or StartStream() .. Write() .. EndStream().
//
//   Task<void> Health(Exchange& exchange) {
//     co_await exchange.Respond({.body = R"({"status":"ok"})"});
//   }
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "gateway/async/signal.h"
#include "gateway/async/task.h"
#include "gateway/http/message.h"
#include "gateway/serving/served_request.h"

namespace inferd::gateway {

class StreamSocket;
struct ApiForm;

class Exchange : public ServedRequest {
 public:
  Exchange(StreamSocket& socket, std::string request_id);

  Request request;
  // Of the API that the request came by; set before anything is answered.
  const ApiForm* form = nullptr;
  // Whether an endpoint that needs no key may name models.
  bool may_see_models = false;

  // Each returns false if the client is gone; the handler then just ends.
  Task<bool> Respond(Response response);
  // `filler`: bytes that mean nothing between two writes of this stream, such as a comment.
  Task<bool> StartStream(Response head, std::string_view filler = "");
  Task<bool> Write(std::string_view bytes);
  Task<bool> EndStream();

  bool answered() const { return answered_; }
  // The connection can take another request after this one.
  bool keep_alive() const { return keep_alive_; }
  // Ends the connection after the answer.
  void ForbidKeepAlive() { keep_alive_ = false; }
  void AllowKeepAlive(bool allow) { keep_alive_ = allow; }

  bool client_gone() const;
  // Called at most once, when the client leaves before the answer is complete. A client that closed its sending side
  // alone has not left; to tell, it is sent an interim response or the stream's filler.
  void OnClientGone(std::function<void()> callback);

  Executor executor();

 private:
  void Probe();
  // By the header that the API has for it.
  void NameRequest(Response& response) const;

  StreamSocket& socket_;
  bool answered_ = false;
  bool keep_alive_ = false;
  Framing stream_framing_ = Framing::kChunked;
  std::string stream_buffer_;
  // Empty outside of a stream.
  std::string filler_;
};

}  // namespace inferd::gateway
