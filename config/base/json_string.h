// Text as a JSON string that is safe in a log line, whatever bytes it has: one line, printable, valid UTF-8.
//
//   std::string line = "{\"path\":";
//   AppendJsonString("a\nb", line);      // {"path":"a\nb"   (backslash and n)
#pragma once

#include <string>
#include <string_view>

namespace inferd {

// Appends `text` in quotes. Control characters (also DEL and U+0080..U+009F) and the separators U+2028 and U+2029 are
// escaped; each byte that is not part of valid UTF-8 becomes U+FFFD.
void AppendJsonString(std::string_view text, std::string& out);

// Length in bytes of the valid UTF-8 character at the start of `text`, 0 if there is none (RFC 3629, section 4).
size_t Utf8CharacterLength(std::string_view text);

// Whether all of `text` is valid UTF-8.
bool IsUtf8(std::string_view text);

}  // namespace inferd
