#include "gateway/http/head_check.h"

#include <gtest/gtest.h>

#include <string>

namespace inferd::gateway {
namespace {

int StatusOf(const std::string& head) {
  auto problem = FindHeadProblem(head);
  return problem ? problem->status : 0;
}

struct Case {
  std::string name;
  std::string head;
  int status;
};

// gtest prints it by name.
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class HeadCheck : public testing::TestWithParam<Case> {};

TEST_P(HeadCheck, GivesTheStatus) { EXPECT_EQ(StatusOf(GetParam().head), GetParam().status) << GetParam().head; }

const std::string kPost = "POST /x HTTP/1.1\r\nHost: a\r\n";

INSTANTIATE_TEST_SUITE_P(
    Framing, HeadCheck,
    testing::Values(Case{"ContentLengthAlone", kPost + "Content-Length: 5\r\n\r\n", 0},
                    Case{"ChunkedAlone", kPost + "Transfer-Encoding: Chunked\r\n\r\n", 0},
                    Case{"Both", kPost + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 400},
                    Case{"BothTheOtherWay", kPost + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
                    Case{"TwoLengths", kPost + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400},
                    Case{"TwoEqualLengths", kPost + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 400},
                    Case{"ListOfLengths", kPost + "Content-Length: 5, 5\r\n\r\n", 400},
                    Case{"NegativeLength", kPost + "Content-Length: -5\r\n\r\n", 400},
                    Case{"PlusLength", kPost + "Content-Length: +5\r\n\r\n", 400},
                    Case{"HexLength", kPost + "Content-Length: 0x5\r\n\r\n", 400},
                    Case{"EmptyLength", kPost + "Content-Length: \r\n\r\n", 400},
                    Case{"HugeLength", kPost + "Content-Length: 99999999999999999999\r\n\r\n", 400},
                    Case{"Gzip", kPost + "Transfer-Encoding: gzip\r\n\r\n", 400},
                    Case{"GzipThenChunked", kPost + "Transfer-Encoding: gzip, chunked\r\n\r\n", 400},
                    Case{"ChunkedTwice", kPost + "Transfer-Encoding: chunked, chunked\r\n\r\n", 400},
                    Case{"TwoCodings", kPost + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
                    Case{"Identity", kPost + "Transfer-Encoding: identity\r\n\r\n", 400},
                    Case{"QuotedChunked", kPost + "Transfer-Encoding: \"chunked\"\r\n\r\n", 400},
                    Case{"VerticalTabChunked", kPost + "Transfer-Encoding: \vchunked\r\n\r\n", 400},
                    Case{"ChunkedInHttp10", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400}));

INSTANTIATE_TEST_SUITE_P(
    Lines, HeadCheck,
    testing::Values(Case{"Plain", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 0},
                    Case{"BareLineFeed", "GET / HTTP/1.1\nHost: a\r\n\r\n", 400},
                    Case{"BareLineFeedInValue", "GET / HTTP/1.1\r\nHost: a\r\nX: 1\nY: 2\r\n\r\n", 400},
                    Case{"CarriageReturnInValue", "GET / HTTP/1.1\r\nHost: a\r\nX: 1\rY: 2\r\n\r\n", 400},
                    Case{"FoldedLine", "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n", 400},
                    Case{"FoldedByTab", "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n\t2\r\n\r\n", 400},
                    Case{"FoldBeforeFirstField", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400},
                    Case{"SpaceBeforeColon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},
                    Case{"NoColon", "GET / HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n", 400},
                    Case{"EmptyName", "GET / HTTP/1.1\r\nHost: a\r\n: 1\r\n\r\n", 400},
                    Case{"NulInName", std::string("GET / HTTP/1.1\r\nHost: a\r\nX\0Y: 1\r\n\r\n", 37), 400},
                    Case{"NulInValue", std::string("GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n", 34), 400},
                    Case{"NoHost", "GET / HTTP/1.1\r\n\r\n", 400}, Case{"NoHostInHttp10", "GET / HTTP/1.0\r\n\r\n", 0},
                    Case{"TwoHosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
                    Case{"Expect100", kPost + "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\n", 0},
                    Case{"ExpectOther", kPost + "Expect: 200-maybe\r\n\r\n", 417}));

INSTANTIATE_TEST_SUITE_P(RequestLine, HeadCheck,
                         testing::Values(Case{"Http2Preface", "PRI * HTTP/2.0\r\n\r\n", 505},
                                         Case{"Http09", "GET /\r\n\r\n", 400},
                                         Case{"TwoSpaces", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
                                         Case{"SpaceInTarget", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
                                         Case{"ControlInTarget", "GET /a\x01 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
                                         Case{"Utf8InTarget", "GET /\xC3\xA9 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
                                         Case{"LongVersion", "GET / HTTP/1.10\r\nHost: a\r\n\r\n", 400},
                                         Case{"OtherProtocol", "GET / ICAP/1.1\r\nHost: a\r\n\r\n", 400},
                                         Case{"LowerCaseProtocol", "GET / http/1.1\r\nHost: a\r\n\r\n", 400},
                                         Case{"BadMethod", "G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400}));

TEST(HeadCheckTest, CountsFields) {
  std::string head = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (size_t i = 1; i < kMaxHeaderFields; ++i) head += "X: 1\r\n";
  EXPECT_EQ(StatusOf(head + "\r\n"), 0);
  EXPECT_EQ(StatusOf(head + "X: 1\r\n\r\n"), 431);
}

TEST(HeadCheckTest, FindsTheEndOfTheHead) {
  EXPECT_EQ(FindHeadEnd("GET / HTTP/1.1\r\n\r\nbody"), 18u);
  EXPECT_EQ(FindHeadEnd("GET / HTTP/1.1\r\n\r"), 0u);
}

}  // namespace
}  // namespace inferd::gateway
