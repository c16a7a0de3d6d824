#include "gateway/http/query.h"

#include <gtest/gtest.h>

#include "gateway/http/canonical_path.h"

namespace inferd::gateway {
namespace {

std::string Shown(std::string_view query) {
  const absl::StatusOr<std::vector<QueryParameter>> parameters = ParseQuery(query);
  if (!parameters.ok()) return "wrong";
  std::string text;
  for (const QueryParameter& parameter : *parameters) text += "[" + parameter.name + "|" + parameter.value + "]";
  return text;
}

TEST(Query, IsWhatFollowsTheMark) {
  const std::pair<const char*, const char*> cases[] = {
      {"/v1/models", ""},    {"/v1/models?", ""}, {"/a?b=1&c", "b=1&c"},
      {"/a?b=1#c?d", "b=1"}, {"/a#b?c", ""},      {"http://host/a?b=/c", "b=/c"},
      {"/a?b?c", "b?c"},     {"*", ""},
  };
  for (const auto& [target, query] : cases) EXPECT_EQ(QueryOf(target), query) << target;
}

TEST(Query, HasDecodedParametersInTheirOrder) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"limit=3", "[limit|3]"},
      {"b=2&a=1&b=", "[b|2][a|1][b|]"},
      {"beta", "[beta|]"},
      {"&&a=1&", "[a|1]"},
      {"a=b=c", "[a|b=c]"},
      {"after_id=org%2Fname+x%3d%26", "[after_id|org/name x=&]"},
      {"%61=%C3%A9", "[a|\xC3\xA9]"},
      {"a=%", "wrong"},
      {"a=%4", "wrong"},
      {"a=%4x", "wrong"},
      {"a=%+4", "wrong"},
      {"a=%-4", "wrong"},
  };
  for (const auto& [query, shown] : cases) EXPECT_EQ(Shown(query), shown) << query;
}

}  // namespace
}  // namespace inferd::gateway
