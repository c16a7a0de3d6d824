// Each pattern takes a part of what its standard allows, and nothing else: RFC 3339 (dates and times, in UTC or with an
// offset; durations), RFC 5321 (e-mail), RFC 1123 (host names), RFC 4291 (IPv6), RFC 9562 (UUID), RFC 3986 (URI).
#include "engine/constraint/string_format.h"

#include <utility>

namespace inferd::constraint {
namespace {

#define INFERD_DATE                                                                                                \
  "([1-9][0-9]{3}-((01|03|05|07|08|10|12)-(0[1-9]|[12][0-9]|3[01])|(04|06|09|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]" \
  "|1[0-9]|2[0-8])))"
#define INFERD_TIME "(([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9]))"
#define INFERD_IPV4 "((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\\.){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define INFERD_LABEL "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define INFERD_GROUP "[0-9a-fA-F]{1,4}"

constexpr std::pair<std::string_view, std::string_view> kFormats[] = {
    {"date", INFERD_DATE},
    {"date-time", INFERD_DATE "T" INFERD_TIME},
    {"duration",
     "P([0-9]{1,9}W|[0-9]{1,9}D(T[0-9]{1,9}H)?|T([0-9]{1,9}H([0-9]{1,9}M([0-9]{1,9}S)?)?|[0-9]{1,9}M([0-9]{1,9}S)?"
     "|[0-9]{1,9}S)|[0-9]{1,9}Y([0-9]{1,9}M([0-9]{1,9}D)?)?|[0-9]{1,9}M([0-9]{1,9}D)?)"},
    {"email", "[A-Za-z0-9_+-]{1,32}(\\.[A-Za-z0-9_+-]{1,31}){0,1}@(" INFERD_LABEL "\\.){1,3}[A-Za-z]{2,12}"},
    {"hostname", "(" INFERD_LABEL "\\.){0,3}" INFERD_LABEL},
    {"ipv4", INFERD_IPV4},
    {"ipv6", "(" INFERD_GROUP ":){7}" INFERD_GROUP "|(" INFERD_GROUP "(:" INFERD_GROUP "){0,2})?::(" INFERD_GROUP
             "(:" INFERD_GROUP "){0,3})?"},
    {"time", INFERD_TIME},
    {"uri", "[a-zA-Z][a-zA-Z0-9+.-]{0,31}://" INFERD_LABEL "(\\." INFERD_LABEL "){0,3}(:[1-9][0-9]{0,3})?"
            "(/[A-Za-z0-9._~!$&'()*+,;=:@-]{0,255}){0,16}(\\?[A-Za-z0-9._~!$&'()*+,;=:@/?-]{0,255})?"
            "(#[A-Za-z0-9._~!$&'()*+,;=:@/?-]{0,255})?"},
    {"uuid", "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"},
};

#undef INFERD_DATE
#undef INFERD_TIME
#undef INFERD_IPV4
#undef INFERD_LABEL
#undef INFERD_GROUP

}  // namespace

std::optional<std::string_view> PatternOfFormat(std::string_view format) {
  for (const auto& [name, pattern] : kFormats) {
    if (name == format) return pattern;
  }
  return std::nullopt;
}

}  // namespace inferd::constraint
