// An HTTP server on a free port, with an application that does what the path says: for tests.
//
//   TEST_F(ServerTest, Answers) { Start(); EXPECT_EQ(Send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").status, 200); }
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/post.hpp>
#include <memory>
#include <string>
#include <thread>

#include "config/base/address.h"
#include "gateway/http/server.h"
#include "gateway/testing/raw_client.h"

namespace inferd::gateway {

// Echoes method, path and body; "/stream" streams the body twice, "/hang" answers when the client is gone, "/flood"
// streams until the client is gone, "/wait" and "/wait-stream" answer when they are released, "/refuse" is refused
// before its body is read.
class EchoApplication : public Application {
 public:
  std::optional<Response> Refuse(Exchange& exchange) override {
    if (exchange.request.path != "/refuse") return std::nullopt;
    return Response{.status = 401, .body = "refused"};
  }

  Task<void> Handle(Exchange& exchange) override {
    const std::string& path = exchange.request.path;
    if (path == "/stream") {
      Response head;
      co_await exchange.StartStream(std::move(head));
      co_await exchange.Write(exchange.request.body);
      co_await exchange.Write(exchange.request.body);
      co_await exchange.EndStream();
    } else if (path == "/flood") {
      const std::string block(1 << 16, 'x');
      Response head;
      bool connected = co_await exchange.StartStream(std::move(head));
      while (connected) connected = co_await exchange.Write(block);
      ++gone;
    } else if (path == "/hang") {
      Signal left(exchange.executor());
      exchange.OnClientGone([&] { left.Notify(); });
      ++hanging;
      co_await left.Wait(TimePoint::max());
      ++gone;
    } else if (path.starts_with("/wait")) {
      co_await Wait(exchange, path == "/wait-stream");
    } else if (path != "/nothing") {
      Response response;
      response.body = exchange.request.method + " " + path + " " + exchange.request.body;
      co_await exchange.Respond(std::move(response));
    }
  }

  // Lets one waiting request go on.
  void Release() {
    boost::asio::post(waiting_executor_, [this] { release_->Notify(); });
  }

  Response MakeError(int status, std::string_view message, Exchange&) override {
    return Response{.status = status, .body = std::string(message)};
  }
  void Finished(const Exchange&) override { ++finished; }

  std::atomic<int> gone{0};
  std::atomic<int> hanging{0};
  std::atomic<int> finished{0};

 private:
  Task<void> Wait(Exchange& exchange, bool stream) {
    Signal released(exchange.executor());
    exchange.OnClientGone([&] {
      ++gone;
      released.Notify();
    });
    if (stream) {
      Response head;
      co_await exchange.StartStream(std::move(head), ": filler\n\n");
    }
    release_ = &released;
    waiting_executor_ = exchange.executor();
    ++hanging;
    co_await released.Wait(TimePoint::max());
    if (stream) {
      co_await exchange.Write("done");
      co_await exchange.EndStream();
    } else {
      Response response;
      response.body = "done";
      co_await exchange.Respond(std::move(response));
    }
    exchange.OnClientGone(nullptr);
  }

  Signal* release_ = nullptr;
  Executor waiting_executor_;
};

class ServerTest : public testing::Test {
 protected:
  void Start(HttpOptions options = {}) {
    auto listener = Listen(*ParseAddress("127.0.0.1:0"));
    ASSERT_TRUE(listener.ok());
    port_ = BoundAddress(listener->get()).port;
    server_ = std::make_unique<HttpServer>(pool_, application_, options);
    server_->Listen(*std::move(listener));
  }
  void TearDown() override { pool_.Stop(); }

  RawClient::Reply Send(const std::string& bytes) {
    RawClient client(port_);
    client.Send(bytes);
    return client.ReadReply();
  }

  // Waits for what another thread is about to do.
  template <typename Condition>
  static bool Eventually(Condition condition) {
    for (auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20); std::chrono::steady_clock::now() < end;
         std::this_thread::yield()) {
      if (condition()) return true;
    }
    return false;
  }

  EchoApplication application_;
  IoPool pool_{2};
  std::unique_ptr<HttpServer> server_;
  int port_ = 0;
};

}  // namespace inferd::gateway
