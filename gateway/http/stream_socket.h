// A connected socket driven by coroutines of one thread: it reads all the time (so that a client that leaves is
// noticed while its answer is being made) and writes without waiting where the kernel has room. A client that closes
// its sending side alone can still be answered.
//
//   socket->Start();
//   if (!co_await socket->WaitForInput(deadline)) ...   // no byte came in time, or the client is gone
//   std::string& input = socket->input();               // take from the front, then socket->Consumed()
//   bool sent = co_await socket->WriteAll(bytes);
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/async/signal.h"

namespace inferd::gateway {

class StreamSocket : public std::enable_shared_from_this<StreamSocket> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  // `write_stall`: a client that takes nothing for that long is dropped.
  StreamSocket(Socket socket, std::chrono::milliseconds write_stall);

  // Starts reading; keeps this object alive until the socket ends.
  void Start();

  // Bytes that arrived and were not taken yet, at most kMaxInputBytes.
  std::string& input() { return input_; }
  // To be called after taking bytes from input().
  void Consumed();
  // Waits until more bytes than now are in input(), the client closed, or the deadline passed. True: more bytes.
  Task<bool> WaitForInput(TimePoint deadline);
  // No more input comes: the client closed its sending side, or the connection ended. Bytes may be left in input().
  bool input_ended() const { return input_ended_; }
  // The connection broke or was closed by us: nobody reads what is written.
  bool ended() const { return ended_; }
  // Called once when ended() becomes true (at once if it is); empty: nothing is called any more.
  void OnEnded(std::function<void()> callback);
  // Called once when the input ends while the connection lives (at once if that is so); empty: as above.
  void OnInputEnded(std::function<void()> callback);

  // False if the client is gone or stalled; the socket is closed then.
  Task<bool> WriteAll(std::string_view bytes);

  // Sends a few bytes if no WriteAll is under way and the kernel has room for them: a peer that is gone answers with a
  // reset, which ends the connection.
  void TrySend(std::string_view bytes);

  // Sends FIN, takes and drops what the client still sends for a moment (so that it reads our last bytes instead of a
  // reset), closes.
  Task<void> CloseGently();
  void Close();

  // Address of the client without its port; empty for a unix socket.
  std::string PeerHost() const;

  Executor executor() { return socket_.get_executor(); }

  // More than the largest head that can be allowed (limits.header): one that is too long must be seen to be.
  static constexpr size_t kMaxInputBytes = 80 * 1024;

 private:
  Task<void> ReadUntilEnd();
  void SetInputEnded();
  void SetEnded();

  Socket socket_;
  const std::chrono::milliseconds write_stall_;
  std::string input_;
  Signal input_changed_;
  Signal input_consumed_;
  bool input_ended_ = false;
  bool ended_ = false;
  bool discard_input_ = false;
  bool writing_ = false;
  std::function<void()> on_ended_;
  std::function<void()> on_input_ended_;
};

}  // namespace inferd::gateway
