#include "gateway/http/query.h"

#include <charconv>

#include "config/base/status.h"

namespace inferd::gateway {
namespace {

absl::StatusOr<std::string> Decode(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded.push_back(text[i] == '+' ? ' ' : text[i]);
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    uint8_t byte = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() != 2 || parsed.ec != std::errc() || parsed.ptr != digits.data() + 2) {
      return InvalidArgument("the query has a % without two hex digits after it");
    }
    decoded.push_back(static_cast<char>(byte));
    i += 2;
  }
  return decoded;
}

}  // namespace

absl::StatusOr<std::vector<QueryParameter>> ParseQuery(std::string_view query) {
  std::vector<QueryParameter> parameters;
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), part.size() + 1));
    if (part.empty()) continue;
    const size_t equals = part.find('=');
    QueryParameter& parameter = parameters.emplace_back();
    ASSIGN_OR_RETURN(parameter.name, Decode(part.substr(0, equals)));
    if (equals != std::string_view::npos) {
      ASSIGN_OR_RETURN(parameter.value, Decode(part.substr(equals + 1)));
    }
  }
  return parameters;
}

}  // namespace inferd::gateway
