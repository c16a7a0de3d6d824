#include "gateway/limits/address_group.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>

#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace inferd::gateway {

std::string AddressGroup(std::string_view host) {
  std::string text = absl::StrReplaceAll(host, {{"%5B", "["}, {"%5D", "]"}});
  std::string_view bare = text;
  if (!absl::ConsumePrefix(&bare, "ipv4:")) absl::ConsumePrefix(&bare, "ipv6:");
  if (absl::ConsumePrefix(&bare, "[")) absl::ConsumeSuffix(&bare, "]");
  boost::system::error_code error;
  const boost::asio::ip::address address = boost::asio::ip::make_address(std::string(bare), error);
  if (error) return std::string(host);
  if (address.is_v4()) return address.to_string();
  const boost::asio::ip::address_v6 six = address.to_v6();
  if (six.is_v4_mapped()) return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, six).to_string();
  boost::asio::ip::address_v6::bytes_type bytes = six.to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), static_cast<unsigned char>(0));
  return boost::asio::ip::address_v6(bytes).to_string() + "/64";
}

}  // namespace inferd::gateway
