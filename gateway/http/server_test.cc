// The HTTP server against raw bytes: each line of "HTTP" in the list of attacks that such servers must stand.
#include "gateway/http/server.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <ctime>
#include <string>

#include "gateway/testing/server_fixture.h"

namespace inferd::gateway {
namespace {

using std::chrono::milliseconds;

const std::string kHost = "Host: a\r\n";

TEST_F(ServerTest, AnswersPipelinedRequestsInOrder) {
  Start();
  RawClient client(port_);
  std::string requests;
  for (int i = 0; i < 20; ++i)
    requests += "POST /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi";
  client.Send(requests);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(client.ReadReply().body, "POST /" + std::to_string(i) + " hi");
}

TEST_F(ServerTest, RefusesEachSmugglingHeadAndEndsTheConnection) {
  Start();
  for (const std::string& head :
       {std::string("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n"),
        std::string("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde"),
        std::string("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n"),
        std::string("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n folded\r\n\r\n"), std::string("GET / HTTP/1.1\nHost: a\n\n"),
        std::string("GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n"), std::string("GET / HTTP/1.1\r\nHost : a\r\n\r\n")}) {
    RawClient client(port_);
    client.Send(head + "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n");
    RawClient::Reply reply = client.ReadReply();
    EXPECT_EQ(reply.status, 400) << head;
    EXPECT_EQ(reply.headers["connection"], "close");
    EXPECT_TRUE(client.IsClosed()) << head;
  }
}

TEST_F(ServerTest, ReadsChunksOfOneByte) {
  Start();
  RawClient client(port_);
  client.Send("POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (char c : std::string("hello")) client.Send("1\r\n" + std::string(1, c) + "\r\n");
  client.Send("0\r\n\r\n");
  EXPECT_EQ(client.ReadReply().body, "POST /c hello");
}

TEST_F(ServerTest, RefusesMalformedChunks) {
  Start();
  for (const char* body :
       {"x\r\n", "-1\r\n", "5\nhello\r\n0\r\n\r\n", "5\r\nhelloX\r\n0\r\n\r\n", "FFFFFFFFFFFFFFFFF\r\n"}) {
    RawClient::Reply reply =
        Send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(body));
    EXPECT_TRUE(reply.status == 400 || reply.status == 413) << body << " got " << reply.status;
  }
}

TEST_F(ServerTest, RefusesABodyThatIsMostlyFraming) {
  Start();
  RawClient client(port_);
  client.Send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "1;" + std::string(1000, 'e') + "\r\nx\r\n";
  for (int i = 0; i < 200 && client.Send(chunk); ++i) {
  }
  EXPECT_EQ(client.ReadReply().status, 413);
}

TEST_F(ServerTest, ATrailerCannotReplaceAHeader) {
  Start();
  RawClient client(port_);
  client.Send(
      "POST /t HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-Request-Id: evil\r\n\r\n");
  RawClient::Reply reply = client.ReadReply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_NE(reply.headers["x-request-id"], "evil");
}

TEST_F(ServerTest, LimitsTheHead) {
  HttpOptions options;
  Start(options);
  std::string line = "X: " + std::string(1000, 'x') + "\r\n";
  std::string head = "GET /h HTTP/1.1\r\n" + kHost;
  for (int i = 0; i < 15; ++i) head += line;
  EXPECT_EQ(Send(head + "\r\n").status, 200);
  for (int i = 0; i < 2; ++i) head += line;
  EXPECT_EQ(Send(head + "\r\n").status, 431);
  EXPECT_EQ(Send("GET /" + std::string(100'000, 'a')).status, 431);
}

TEST_F(ServerTest, RefusesTooLongAHeadAtOnceUnderTheLargestLimit) {
  HttpOptions options;
  options.max_head_bytes = 64 << 10;
  options.head_timeout = std::chrono::hours(1);  // for which nobody waits
  Start(options);
  const std::string begin = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
  EXPECT_EQ(Send(begin + std::string(options.max_head_bytes + 1 - begin.size(), 'x')).status, 431);
}

TEST_F(ServerTest, LimitsTheBody) {
  HttpOptions options;
  options.max_body_bytes = 1000;
  Start(options);
  auto post = [&](size_t n) {
    return "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(n) + "\r\n\r\n" + std::string(n, 'b');
  };
  EXPECT_EQ(Send(post(1000)).status, 200);
  EXPECT_EQ(Send(post(1001)).status, 413);
  EXPECT_EQ(Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n").status, 413);
  EXPECT_EQ(
      Send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + std::string(1001, 'b')).status,
      413);
}

TEST_F(ServerTest, ARefusalGoesBeforeTheSizeOfTheBody) {
  HttpOptions options;
  options.max_body_bytes = 1000;
  Start(options);
  RawClient client(port_);
  client.Send("POST /refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n" + std::string(1001, 'b'));
  RawClient::Reply reply = client.ReadReply();
  EXPECT_EQ(reply.status, 401);
  EXPECT_EQ(reply.headers["connection"], "close");
  EXPECT_TRUE(client.IsClosed());
}

TEST_F(ServerTest, ALargeRefusedBodyStillGetsItsAnswer) {
  HttpOptions options;
  options.max_body_bytes = 1000;
  Start(options);
  RawClient client(port_);
  client.Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n");
  client.Send(std::string(8'000'000, 'b'));
  EXPECT_EQ(client.ReadReply().status, 413);
}

TEST_F(ServerTest, GivesUpOnSlowHeadsAndBodies) {
  HttpOptions options;
  options.head_timeout = milliseconds(200);
  options.body_timeout = milliseconds(200);
  Start(options);
  RawClient slow_head(port_);
  slow_head.Send("GET / HT");
  EXPECT_EQ(slow_head.ReadReply().status, 408);
  EXPECT_TRUE(slow_head.IsClosed());
  RawClient slow_body(port_);
  slow_body.Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab");
  EXPECT_EQ(slow_body.ReadReply().status, 408);
  EXPECT_TRUE(slow_body.IsClosed());
}

TEST_F(ServerTest, TheHeadHasOneDeadlineHoweverItDrips) {
  HttpOptions options;
  options.head_timeout = milliseconds(300);
  Start(options);
  RawClient client(port_);
  // Each byte comes in time; all together do not.
  while (client.Send("X")) {
    pollfd ready{client.fd(), POLLIN, 0};
    if (poll(&ready, 1, 20) > 0) break;
  }
  EXPECT_EQ(client.ReadReply().status, 408);
}

TEST_F(ServerTest, ClosesIdleConnections) {
  HttpOptions options;
  options.idle_timeout = milliseconds(100);
  Start(options);
  RawClient never_spoke(port_);
  EXPECT_TRUE(never_spoke.IsClosed());
  RawClient spoke(port_);
  spoke.Send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(spoke.ReadReply().status, 200);
  EXPECT_TRUE(spoke.IsClosed());
}

TEST_F(ServerTest, MeetsExpect100AndNoOther) {
  Start();
  RawClient client(port_);
  client.Send("POST /e HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.ReadReply().status, 100);
  client.Send("hi");
  EXPECT_EQ(client.ReadReply().body, "POST /e hi");
  EXPECT_EQ(Send("POST /e HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: magic\r\n\r\nhi").status, 417);
}

// RFC 9110 section 10.1.1: it would take the interim answer for the final one.
TEST_F(ServerTest, IgnoresTheExpectationOfHttp10) {
  Start();
  RawClient client(port_);
  client.Send("POST /e HTTP/1.0\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  client.CloseSendingSide();
  EXPECT_NE(client.ReadReply().status, 100);
  EXPECT_EQ(Send("POST /e HTTP/1.0\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nhi").body, "POST /e hi");
}

TEST_F(ServerTest, DoesNotAskForTheBodyOfARefusedRequest) {
  Start();
  RawClient client(port_);
  client.Send("POST /refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  RawClient::Reply reply = client.ReadReply();
  EXPECT_EQ(reply.status, 401);
  EXPECT_EQ(reply.headers["connection"], "close");
}

TEST_F(ServerTest, KeepsTheConnectionAfterARefusalWithASmallBody) {
  Start();
  RawClient client(port_);
  client.Send(
      "POST /refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET /next HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(client.ReadReply().status, 401);
  EXPECT_EQ(client.ReadReply().body, "GET /next ");
}

TEST_F(ServerTest, AnswersHeadWithoutBody) {
  Start();
  RawClient client(port_);
  client.Send("HEAD /h HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n");
  RawClient::Reply reply = client.ReadReply(true);
  EXPECT_EQ(reply.headers["content-length"], "8");
  EXPECT_EQ(client.ReadReply().body, "GET /next ");
}

TEST_F(ServerTest, HandlersSeeTheCanonicalPath) {
  Start();
  EXPECT_EQ(Send("GET //a/../b?q HTTP/1.1\r\nHost: a\r\n\r\n").body, "GET /b ");
  EXPECT_EQ(Send("GET http://elsewhere/%62 HTTP/1.1\r\nHost: a\r\n\r\n").body, "GET /b ");
  EXPECT_EQ(Send("GET /../refuse HTTP/1.1\r\nHost: a\r\n\r\n").status, 400);
  EXPECT_EQ(Send("GET //refuse HTTP/1.1\r\nHost: a\r\n\r\n").status, 401);
  EXPECT_EQ(Send("GET host:80 HTTP/1.1\r\nHost: a\r\n\r\n").status, 400);
}

TEST_F(ServerTest, TheConnectionServesAnotherRequestAfterAStream) {
  Start();
  RawClient client(port_);
  for (int i = 0; i < 3; ++i) {
    client.Send("POST /stream HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi");
    RawClient::Reply reply = client.ReadReply();
    EXPECT_EQ(reply.headers["transfer-encoding"], "chunked");
    EXPECT_EQ(reply.body, "hihi");
  }
}

TEST_F(ServerTest, StreamsToHttp10UntilClose) {
  Start();
  RawClient client(port_);
  client.Send("POST /stream HTTP/1.0\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi");
  RawClient::Reply reply = client.ReadReply();
  EXPECT_FALSE(reply.headers.contains("transfer-encoding"));
  EXPECT_EQ(reply.body, "hihi");
}

TEST_F(ServerTest, SaysInternalErrorWhereAHandlerDoesNotAnswer) {
  Start();
  EXPECT_EQ(Send("GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n").status, 500);
}

// RFC 9110 section 5.6.7.
TEST_F(ServerTest, SaysWhenItAnswered) {
  Start();
  std::tm date{};
  const std::string text = Send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").headers["date"];
  ASSERT_NE(strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date), nullptr) << text;
  EXPECT_NEAR(static_cast<double>(timegm(&date)), static_cast<double>(std::time(nullptr)), 60);
}

TEST_F(ServerTest, ReturnsASaneRequestIdAndReplacesOthers) {
  Start();
  EXPECT_EQ(Send("GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: my-id.1\r\n\r\n").headers["x-request-id"], "my-id.1");
  std::string made = Send("GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: a b\r\n\r\n").headers["x-request-id"];
  EXPECT_EQ(made.size(), 28u);
  EXPECT_TRUE(made.starts_with("req-"));
}

}  // namespace
}  // namespace inferd::gateway
