#include "gateway/limits/address_group.h"

#include <gtest/gtest.h>

namespace inferd::gateway {
namespace {

TEST(AddressGroup, IsTheAddressOrTheNetworkOfAClient) {
  const std::pair<const char*, const char*> cases[] = {
      {"127.0.0.1", "127.0.0.1"},
      {"ipv4:10.1.2.3", "10.1.2.3"},
      {"::ffff:10.1.2.3", "10.1.2.3"},
      {"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
      {"2001:db8:1:2::9", "2001:db8:1:2::/64"},
      {"2001:db8:1:3::9", "2001:db8:1:3::/64"},
      {"ipv6:[2001:db8:1:2::9]", "2001:db8:1:2::/64"},
      {"ipv6:%5B2001:db8:1:2::9%5D", "2001:db8:1:2::/64"},
      {"::1", "::/64"},
      {"", ""},
      {"unix:", "unix:"},
      {"fd", "fd"},
  };
  for (const auto& [host, group] : cases) EXPECT_EQ(AddressGroup(host), group) << host;
}

}  // namespace
}  // namespace inferd::gateway
