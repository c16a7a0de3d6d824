#include "gateway/http/exchange.h"

#include "gateway/http/stream_socket.h"

namespace inferd::gateway {

Exchange::Exchange(StreamSocket& socket, std::string id) : request_id(std::move(id)), socket_(socket) {}

bool Exchange::client_gone() const { return socket_.ended(); }

void Exchange::OnClientGone(std::function<void()> callback) { socket_.OnEnded(std::move(callback)); }

std::string Exchange::PeerHost() const { return socket_.PeerHost(); }

Executor Exchange::executor() { return socket_.executor(); }

Task<bool> Exchange::Respond(Response response) {
  answered_ = true;
  record.status = response.status;
  std::string bytes = FormatHead(response, Framing::kContentLength, response.body.size(), keep_alive_, request_id);
  if (request.method != "HEAD" && response.status != 204) bytes.append(response.body);
  bool sent = co_await socket_.WriteAll(bytes);
  record.client_gone = !sent;
  co_return sent;
}

Task<bool> Exchange::StartStream(Response head) {
  answered_ = true;
  record.status = head.status;
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
  if (stream_framing_ == Framing::kUntilClose) co_return !client_gone();
  co_return co_await socket_.WriteAll("0\r\n\r\n");
}

}  // namespace inferd::gateway
