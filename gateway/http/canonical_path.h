// One spelling for each path, so that no request reaches a handler by a name that authorization did not see.
//
//   CanonicalPath("//v1/../v1/./chat%2Dx?y=1")              == "/v1/chat-x"
//   CanonicalPath("http://host:8080/v1/models/org%2Fname")  == "/v1/models/org%2Fname"   (an encoded slash stays so)
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace inferd::gateway {

// Path of a request target in origin form ("/p?q"), absolute form ("http://host/p") or "*" (RFC 9112 section 3.2):
// percent-decoded once, without empty, "." and ".." segments and without the query. Nothing for other forms, for a
// wrong or hidden percent-encoding (%00, %25, control characters), a backslash in either form, and for ".." above the
// root.
std::optional<std::string> CanonicalPath(std::string_view target);

// "limit=3&x=a%20b" of "/v1/models?limit=3&x=a%20b#end"; empty where there is none.
std::string_view QueryOf(std::string_view target);

// "a%2Fb" -> "a/b": for the last part of a path that names something.
std::string DecodeSlashes(std::string_view segment);

}  // namespace inferd::gateway
