#include "gateway/http/exchange.h"

#include "gateway/http/api_form.h"
#include "gateway/http/stream_socket.h"

namespace inferd::gateway {

Exchange::Exchange(StreamSocket& socket, std::string id) : socket_(socket) {
  request_id = std::move(id);
  peer_host = socket_.PeerHost();
}

bool Exchange::client_gone() const { return socket_.ended(); }

void Exchange::OnClientGone(std::function<void()> callback) {
  const bool wanted = callback != nullptr;
  socket_.OnEnded(std::move(callback));
  socket_.OnInputEnded(wanted ? [this] { Probe(); } : std::function<void()>());
}

// RFC 9110 section 15.2: every client of HTTP/1.1 takes interim responses. One of HTTP/1.0 gets its answer unprobed.
void Exchange::Probe() {
  if (!answered_ && request.minor_version > 0) socket_.TrySend("HTTP/1.1 100 Continue\r\n\r\n");
  if (filler_.empty()) return;
  std::string bytes = stream_framing_ == Framing::kUntilClose ? filler_ : "";
  if (bytes.empty()) AppendChunk(filler_, bytes);
  socket_.TrySend(bytes);
}

void Exchange::NameRequest(Response& response) const {
  if (form == nullptr || form->request_id_header.empty()) return;
  response.headers.emplace_back(form->request_id_header, request_id);
}

Executor Exchange::executor() { return socket_.executor(); }

Task<bool> Exchange::Respond(Response response) {
  answered_ = true;
  record.status = response.status;
  NameRequest(response);
  std::string bytes = FormatHead(response, Framing::kContentLength, response.body.size(), keep_alive_, request_id);
  if (request.method != "HEAD" && response.status != 204) bytes.append(response.body);
  bool sent = co_await socket_.WriteAll(bytes);
  record.client_gone = !sent;
  co_return sent;
}

Task<bool> Exchange::StartStream(Response head, std::string_view filler) {
  answered_ = true;
  filler_ = filler;
  record.status = head.status;
  NameRequest(head);
  if (request.minor_version == 0) {
    stream_framing_ = Framing::kUntilClose;
    keep_alive_ = false;
  }
  std::string bytes = FormatHead(head, stream_framing_, 0, keep_alive_, request_id);
  co_return co_await socket_.WriteAll(bytes);
}

Task<bool> Exchange::Write(std::string_view bytes) {
  if (bytes.empty()) co_return !client_gone();
  if (stream_framing_ == Framing::kUntilClose) co_return co_await socket_.WriteAll(bytes);
  stream_buffer_.clear();
  AppendChunk(bytes, stream_buffer_);
  co_return co_await socket_.WriteAll(stream_buffer_);
}

Task<bool> Exchange::EndStream() {
  filler_.clear();
  if (stream_framing_ == Framing::kUntilClose) co_return !client_gone();
  co_return co_await socket_.WriteAll("0\r\n\r\n");
}

}  // namespace inferd::gateway
