// What a request's head must not contain. Boost.Beast parses the head afterwards; this check comes first because Beast
// is lenient where two parsers in a row could disagree about where a request ends (request smuggling, RFC 9112
// sections 2.2, 5.2, 6.1, 6.3, 11.2).
//
//   if (auto problem = FindHeadProblem(head)) return RefuseAndClose(problem->status, problem->message);
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace inferd::gateway {

inline constexpr size_t kMaxHeaderFields = 100;

struct HeadProblem {
  int status = 400;
  std::string message;
};

// Length of the head at the start of `input` with its final empty line; 0 while that has not arrived.
size_t FindHeadEnd(std::string_view input);

// True if a line in `input` ends with LF alone: such a head is refused without waiting for its end.
bool HasBareLineFeed(std::string_view input);

// The first reason to refuse `head` (request line, header lines and the empty line, each ended by CRLF).
std::optional<HeadProblem> FindHeadProblem(std::string_view head);

}  // namespace inferd::gateway
