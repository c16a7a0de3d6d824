// How connections end: clients that leave or half leave, drains, limits.
#include <gtest/gtest.h>

#include "gateway/testing/server_fixture.h"

namespace inferd::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

TEST_F(ServerTest, NoticesAClientThatLeavesWhileItsAnswerIsMade) {
  Start();
  RawClient client(port_);
  client.Send("GET /hang HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(Eventually([&] { return application_.hanging == 1; }));
  client.Close();
  EXPECT_TRUE(Eventually([&] { return application_.gone == 1; }));
}

TEST_F(ServerTest, NoticesAClientThatLeavesBetweenTheWritesOfAStream) {
  Start();
  RawClient client(port_);
  client.Send("GET /wait-stream HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(Eventually([&] { return application_.hanging == 1; }));
  client.Close();
  EXPECT_TRUE(Eventually([&] { return application_.gone == 1; }));
}

// RFC 9112 section 9.6: the sending side of a connection may be closed alone.
TEST_F(ServerTest, AnswersAClientThatClosedItsSendingSide) {
  Start();
  for (const char* path : {"/wait", "/wait-stream"}) {
    RawClient client(port_);
    const int before = application_.hanging;
    client.Send("GET /first HTTP/1.1\r\nHost: a\r\n\r\nGET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n");
    client.CloseSendingSide();
    EXPECT_EQ(client.ReadReply().body, "GET /first ");
    ASSERT_TRUE(Eventually([&] { return application_.hanging > before; }));
    application_.Release();
    RawClient::Reply reply = client.ReadReply();
    if (reply.status == 100) reply = client.ReadReply();
    EXPECT_EQ(reply.status, 200) << path;
    EXPECT_TRUE(reply.body.ends_with("done")) << path << ": " << reply.body;
    EXPECT_TRUE(client.IsClosed());
  }
  EXPECT_EQ(application_.gone, 0);
}

TEST_F(ServerTest, ABodyThatEndsTooEarlyIsNotWaitedFor) {
  Start();
  RawClient client(port_);
  client.Send("POST /c HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab");
  client.CloseSendingSide();
  EXPECT_TRUE(client.IsClosed());
  EXPECT_TRUE(Eventually([&] { return application_.finished == 1; }));
}

// Of each kind of body: with its length, and in chunks.
TEST_F(ServerTest, BoundsTheBodiesThatAreHeldAtATime) {
  ByteBudget budget(1000);
  HttpOptions options;
  options.bodies = &budget;
  Start(options);
  RawClient waiting(port_);
  waiting.Send("POST /wait HTTP/1.1\r\nHost: a\r\nContent-Length: 600\r\n\r\n" + std::string(600, 'b'));
  ASSERT_TRUE(Eventually([&] { return application_.hanging == 1; }));
  const std::string by_length = "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 401\r\n\r\n" + std::string(401, 'b');
  const std::string in_chunks = "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n191\r\n" +
                                std::string(401, 'b') + "\r\n0\r\n\r\n";
  for (const std::string& request : {by_length, in_chunks}) {
    RawClient::Reply reply = Send(request);
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(reply.headers["connection"], "close");
  }
  EXPECT_EQ(Send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 400\r\n\r\n" + std::string(400, 'b')).status, 200);
  application_.Release();
  EXPECT_EQ(waiting.ReadReply().body, "done");
  EXPECT_TRUE(Eventually([&] { return budget.left() == 1000; }));
  for (const std::string& request : {by_length, in_chunks}) EXPECT_EQ(Send(request).status, 200);
  pool_.Stop();  // before the budget goes
}

TEST_F(ServerTest, DropsAClientThatNeverReads) {
  HttpOptions options;
  options.write_stall = milliseconds(200);
  Start(options);
  RawClient client(port_);
  client.Send("GET /flood HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(Eventually([&] { return application_.gone == 1; }));
  EXPECT_TRUE(Eventually([&] { return server_->open_connections() == 0; }));
}

TEST_F(ServerTest, ConnectionsBeyondTheLimitWaitForRoom) {
  HttpOptions options;
  options.max_connections = 2;
  Start(options);
  RawClient first(port_), second(port_), third(port_);
  ASSERT_TRUE(Eventually([&] { return server_->open_connections() == 2; }));
  third.Send("GET /third HTTP/1.1\r\nHost: a\r\n\r\n");
  first.Close();
  EXPECT_EQ(third.ReadReply().body, "GET /third ");
}

TEST_F(ServerTest, DrainFinishesRequestsAndRefusesConnections) {
  Start();
  RawClient idle(port_), busy(port_);
  busy.Send("GET /hang HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(Eventually([&] { return application_.hanging == 1 && server_->open_connections() == 2; }));
  EXPECT_FALSE(server_->Drain(steady_clock::now() + milliseconds(50)));
  EXPECT_TRUE(idle.IsClosed());
  busy.Close();
  EXPECT_TRUE(server_->Drain(steady_clock::now() + std::chrono::seconds(20)));
  EXPECT_FALSE(RawClient(port_).Send("x") && RawClient(port_).Send("x"));
}

TEST_F(ServerTest, ALateRequestOnAKeptConnectionIsAnsweredAsItsLast) {
  Start();
  RawClient idle(port_), busy(port_);
  busy.Send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
  idle.Send("GET /one HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(idle.ReadReply().headers["connection"], "keep-alive");
  ASSERT_TRUE(Eventually([&] { return application_.hanging == 1 && server_->open_connections() == 2; }));
  std::thread drain([&] { server_->Drain(steady_clock::now() + std::chrono::seconds(60), std::chrono::seconds(60)); });
  // A new connection is not accepted once the drain has begun.
  while (RawClient(port_).Send("x")) {
  }
  for (RawClient* client : {&idle, &busy}) {
    client->Send("GET /last HTTP/1.1\r\nHost: a\r\n\r\n");
    if (client == &busy) {
      application_.Release();
      EXPECT_EQ(client->ReadReply().body, "done");
    }
    RawClient::Reply reply = client->ReadReply();
    EXPECT_EQ(reply.body, "GET /last ");
    EXPECT_EQ(reply.headers["connection"], "close");
    EXPECT_TRUE(client->IsClosed());
    client->Close();
  }
  drain.join();
}

TEST_F(ServerTest, WaitsForRequestsAndNotForConnections) {
  Start();
  RawClient idle(port_), busy(port_);
  busy.Send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(Eventually([&] { return application_.hanging == 1; }));
  std::atomic<bool> waited = false;
  std::thread waiter([&] {
    server_->AwaitNoRequest(steady_clock::now() + std::chrono::seconds(60));
    waited = true;
  });
  EXPECT_EQ(Send("GET /meanwhile HTTP/1.1\r\nHost: a\r\n\r\n").status, 200);
  EXPECT_FALSE(waited);
  application_.Release();
  EXPECT_EQ(busy.ReadReply().body, "done");
  waiter.join();
}

}  // namespace
}  // namespace inferd::gateway
